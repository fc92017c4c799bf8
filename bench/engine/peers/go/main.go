// The loop of bench_engine with Go's x/time/rate: a limiter for each key in a map behind a
// sync.RWMutex, as its users write it. bench/engine/peer.h describes the conversation on stdin and
// stdout.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/time/rate"
)

const (
	keyBytes = 16
	capacity = 100_000_000
	perHour  = 100
)

type limiters struct {
	mutex sync.RWMutex
	byKey map[string]*rate.Limiter
}

func (l *limiters) allow(key string) bool {
	l.mutex.RLock()
	limiter, found := l.byKey[key]
	l.mutex.RUnlock()
	if !found {
		l.mutex.Lock()
		limiter, found = l.byKey[key]
		if !found {
			limiter = rate.NewLimiter(rate.Limit(perHour/3600.0), capacity)
			l.byKey[strings.Clone(key)] = limiter
		}
		l.mutex.Unlock()
	}
	return limiter.Allow()
}

// checkAll checks every key of the text, and returns the number of allowed ones.
func (l *limiters) checkAll(text []byte) int {
	allowed := 0
	for at := 0; at+keyBytes <= len(text); at += keyBytes {
		// A view of the text: no check allocates.
		if l.allow(unsafe.String(&text[at], keyBytes)) {
			allowed++
		}
	}
	return allowed
}

// cpuSeconds returns the CPU time of the process.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func (l *limiters) run(parts [][]byte) (float64, float64, int) {
	var done sync.WaitGroup
	start := make(chan struct{})
	allowed := make([]int, len(parts))
	for i, part := range parts {
		done.Add(1)
		go func() {
			defer done.Done()
			<-start
			allowed[i] = l.checkAll(part)
		}()
	}
	began, cpu := time.Now(), cpuSeconds()
	close(start)
	done.Wait()
	seconds := time.Since(began).Seconds()
	cpu = cpuSeconds() - cpu
	total := 0
	for _, count := range allowed {
		total += count
	}
	return seconds, cpu, total
}

func residentBytes() int {
	var pages, resident int
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return 0
	}
	defer statm.Close()
	fmt.Fscan(statm, &pages, &resident)
	return resident * 4096
}

func main() {
	all := &limiters{byKey: map[string]*rate.Limiter{}}
	var parts [][]byte
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command string
		fmt.Sscan(lines.Text(), &command)
		switch command {
		case "fill":
			var keys int
			fmt.Sscanf(lines.Text(), "fill %d", &keys)
			before := residentBytes()
			for i := range keys {
				all.checkAll(fmt.Appendf(nil, "user:%011d", i))
			}
			fmt.Println(float64(max(residentBytes()-before, 0)) / float64(keys))
		case "load":
			var threads int
			var path string
			fmt.Sscanf(lines.Text(), "load %d %s", &threads, &path)
			text, err := os.ReadFile(path)
			if err != nil {
				panic(err)
			}
			parts = nil
			size := len(text) / threads / keyBytes * keyBytes
			for i := range threads {
				parts = append(parts, text[i*size:(i+1)*size])
			}
			fmt.Println(len(parts))
		case "run":
			seconds, cpu, allowed := all.run(parts)
			fmt.Println(seconds, cpu, allowed)
		default:
			panic("unknown command: " + lines.Text())
		}
	}
}
