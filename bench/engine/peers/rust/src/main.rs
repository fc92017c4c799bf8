// The loop of bench_engine with the limiters of two crates. bench/engine/peer.h describes the
// conversation on stdin and stdout.

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::io::{BufRead, Write};
use std::num::NonZeroU32;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant, SystemTime};

const KEY_BYTES: usize = 16;
const CAPACITY: u32 = 100_000_000;
const PER_HOUR: u32 = 100;

trait Contender: Sync + Send {
    /// Checks every key of the text, KEY_BYTES each, and returns the number of allowed ones.
    fn check_all(&self, text: &[u8]) -> usize;
}

fn quota() -> Quota {
    Quota::with_period(Duration::from_secs(3600) / PER_HOUR)
        .unwrap()
        .allow_burst(NonZeroU32::new(CAPACITY).unwrap())
}

struct GovernorStrings(DefaultKeyedRateLimiter<String>);

impl Contender for GovernorStrings {
    fn check_all(&self, text: &[u8]) -> usize {
        // The limiter takes a &String: one is reused, so that no check allocates.
        let mut key = String::with_capacity(KEY_BYTES);
        let mut allowed = 0;
        for bytes in text.chunks_exact(KEY_BYTES) {
            key.clear();
            // The text is ASCII: bench_engine wrote it.
            key.push_str(unsafe { std::str::from_utf8_unchecked(bytes) });
            allowed += self.0.check_key(&key).is_ok() as usize;
        }
        allowed
    }
}

struct GovernorFixed(DefaultKeyedRateLimiter<[u8; KEY_BYTES]>);

impl Contender for GovernorFixed {
    fn check_all(&self, text: &[u8]) -> usize {
        let mut allowed = 0;
        for bytes in text.chunks_exact(KEY_BYTES) {
            let key: &[u8; KEY_BYTES] = bytes.try_into().unwrap();
            allowed += self.0.check_key(key).is_ok() as usize;
        }
        allowed
    }
}

struct ThrottleCrab(Mutex<throttlecrab::RateLimiter<throttlecrab::PeriodicStore>>);

impl Contender for ThrottleCrab {
    fn check_all(&self, text: &[u8]) -> usize {
        let mut allowed = 0;
        for bytes in text.chunks_exact(KEY_BYTES) {
            let key = unsafe { std::str::from_utf8_unchecked(bytes) };
            let (burst, rate) = (i64::from(CAPACITY), i64::from(PER_HOUR));
            let now = SystemTime::now();
            let result = self.0.lock().unwrap().rate_limit(key, burst, rate, 3600, 1, now);
            allowed += result.is_ok_and(|(passes, _)| passes) as usize;
        }
        allowed
    }
}

fn contender(name: &str) -> Arc<dyn Contender> {
    match name {
        "governor-string" => Arc::new(GovernorStrings(RateLimiter::keyed(quota()))),
        "governor-fixed" => Arc::new(GovernorFixed(RateLimiter::keyed(quota()))),
        "throttlecrab" => Arc::new(ThrottleCrab(Mutex::new(throttlecrab::RateLimiter::new(
            throttlecrab::PeriodicStore::new(),
        )))),
        _ => panic!("unknown contender {name}"),
    }
}

/// The CPU time of the calling thread.
fn thread_cpu_nanos() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse().unwrap()
}

fn run(limiter: &Arc<dyn Contender>, parts: &[Arc<Vec<u8>>]) -> (f64, f64, usize) {
    let start = Arc::new(Barrier::new(parts.len() + 1));
    let threads: Vec<_> = parts
        .iter()
        .map(|part| {
            let (limiter, part, start) = (limiter.clone(), part.clone(), start.clone());
            std::thread::spawn(move || {
                start.wait();
                let before = thread_cpu_nanos();
                let allowed = limiter.check_all(&part);
                (thread_cpu_nanos() - before, allowed)
            })
        })
        .collect();
    start.wait();
    let began = Instant::now();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let seconds = began.elapsed().as_secs_f64();
    let cpu_nanos: u64 = results.iter().map(|result| result.0).sum();
    (seconds, cpu_nanos as f64 * 1e-9, results.iter().map(|result| result.1).sum())
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn main() {
    let limiter = contender(&std::env::args().nth(1).expect("usage: engine-peers CONTENDER"));
    let mut parts: Vec<Arc<Vec<u8>>> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["fill", keys] => {
                let before = resident_bytes();
                let keys: u64 = keys.parse().unwrap();
                for i in 0..keys {
                    limiter.check_all(format!("user:{i:011}").as_bytes());
                }
                let grown = resident_bytes().saturating_sub(before);
                println!("{}", grown as f64 / keys as f64);
            }
            ["load", threads, path] => {
                let text = std::fs::read(path).unwrap();
                let threads: usize = threads.parse().unwrap();
                let size = text.len() / threads / KEY_BYTES * KEY_BYTES;
                parts = text.chunks_exact(size).map(|part| Arc::new(part.to_vec())).collect();
                println!("{}", parts.len());
            }
            ["run"] => {
                let (seconds, cpu_seconds, allowed) = run(&limiter, &parts);
                println!("{seconds} {cpu_seconds} {allowed}");
            }
            _ => panic!("unknown command: {line}"),
        }
        std::io::stdout().flush().unwrap();
    }
}
