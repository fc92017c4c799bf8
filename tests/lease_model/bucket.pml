/* Leases of a token bucket (docs/leases.md), small enough to look at every run of it.
 *
 * One token arrives each tick. Nodes fetch, spend, report, return, time out and crash; messages overtake each
 * other, wait as long as they like, and get lost. `judge` is a bucket that is told of every admission at the
 * moment it happens, whoever admits: it stays at or above zero exactly if for every span of t ticks at most
 * CAP + t were admitted.
 *
 * Compiled with BROKEN_… one rule of the protocol is left out; check.py expects that to be found.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef CAP
#define CAP 2
#endif
#ifndef LEASE
#define LEASE 2    /* Ticks that a lease lasts. */
#endif
#ifndef END
#define END 5      /* The last tick. */
#endif
#ifndef RESERVE
#define RESERVE 1  /* Tokens of future refill that may be granted ahead. */
#endif
#ifndef REQUESTS
#define REQUESTS 3 /* How many messages a node sends. */
#endif
#define WIRES 2    /* How many messages travel at once; one more is lost. */
#define SLOTS 2    /* Leases that a node holds at once. */

#define NONE 0
#define ASK 1
#define GRANT 2

typedef Lease {
  byte tokens;     /* May be spent now. */
  byte later;      /* Reserved: one becomes a token after `wait` ticks, then one each tick. */
  byte wait;
  byte spent;      /* Not reported yet. */
  byte expires;    /* Names the lease to the store; 0: none. */
  byte deadline
};
typedef Node {
  Lease lease[SLOTS];
  bit asking;
  byte asked;      /* Messages sent so far; the number of the last. */
  byte sent        /* When the last was sent. */
};
typedef Message {
  byte kind;
  byte node;
  byte number;
  byte expires;
  byte spent;
  byte returned;
  bit wants;
  byte tokens;
  byte later;
  byte wait
};

Node node[NODES];
Message wire[WIRES];
byte now = 0;
short judge = CAP;

short left = CAP;            /* The store: below zero by what is reserved. */
byte out[END + LEASE + 2];   /* Outstanding, by the tick at which it expires. */
hidden byte o, i, s, w, who;
hidden short count;

inline count_outstanding() {
  count = 0;
  for (o : 0 .. END + LEASE + 1) { count = count + out[o] }
}

inline tick() {
  now++;
  if :: judge < CAP -> judge++ :: else fi;
  count_outstanding();
#ifdef BROKEN_REFILL
  count = 0;
#endif
  if :: left < CAP - count -> left++ :: else fi;
  out[now] = 0;
  for (i : 0 .. NODES - 1) {
    for (s : 0 .. SLOTS - 1) {
      if
      :: node[i].lease[s].expires > 0 && now >= node[i].lease[s].deadline ->
         /* Over: what is left of it lapses. What was spent may still be reported. */
         node[i].lease[s].tokens = 0; node[i].lease[s].later = 0; node[i].lease[s].wait = 0;
         if :: node[i].lease[s].spent == 0 || now >= node[i].lease[s].expires ->
               node[i].lease[s].spent = 0; node[i].lease[s].expires = 0; node[i].lease[s].deadline = 0
            :: else
         fi
      :: node[i].lease[s].expires > 0 && now < node[i].lease[s].deadline && node[i].lease[s].later > 0 ->
         node[i].lease[s].wait--;
         if :: node[i].lease[s].wait == 0 ->
               node[i].lease[s].later--; node[i].lease[s].tokens++;
               if :: node[i].lease[s].later > 0 -> node[i].lease[s].wait = 1 :: else fi
            :: else
         fi
      :: else
      fi
    }
  }
}

inline clear(m) {
  wire[m].kind = NONE; wire[m].node = 0; wire[m].number = 0; wire[m].expires = 0; wire[m].spent = 0;
  wire[m].returned = 0; wire[m].wants = 0; wire[m].tokens = 0; wire[m].later = 0; wire[m].wait = 0
}

/* The lease has nothing left to spend and nothing to report. */
inline free_if_done(n, l) {
  if
  :: node[n].lease[l].tokens == 0 && node[n].lease[l].later == 0 && node[n].lease[l].spent == 0 ->
     node[n].lease[l].expires = 0; node[n].lease[l].deadline = 0
  :: else
  fi
}

/* One message that reports lease s, perhaps gives it back, perhaps asks for more. */
inline send(n, l, gives, fetches) {
  node[n].asked++;
  if
  :: fetches -> node[n].asking = 1; node[n].sent = now
  :: else
  fi;
  w = 0;
  do :: w < WIRES && wire[w].kind != NONE -> w++ :: else -> break od;
  if
  :: w < WIRES ->
     wire[w].kind = ASK; wire[w].node = n; wire[w].number = node[n].asked;
     wire[w].expires = node[n].lease[l].expires; wire[w].spent = node[n].lease[l].spent; wire[w].wants = fetches;
     if :: gives -> wire[w].returned = node[n].lease[l].tokens + node[n].lease[l].later :: else fi
  :: else
  fi;
  node[n].lease[l].spent = 0;
  if
  :: gives -> node[n].lease[l].tokens = 0; node[n].lease[l].later = 0; node[n].lease[l].wait = 0
  :: else
  fi;
  free_if_done(n, l)
}

/* The store hears of a lease; one that has expired is not there any more. */
inline hear(m) {
#ifdef BROKEN_LATE_RETURN
  left = left + wire[m].returned;
#else
  count = wire[m].returned;
  if :: count > out[wire[m].expires] -> count = out[wire[m].expires] :: else fi;
  left = left + count;
  out[wire[m].expires] = out[wire[m].expires] - count;
#endif
  if
  :: wire[m].spent < out[wire[m].expires] -> out[wire[m].expires] = out[wire[m].expires] - wire[m].spent
  :: else -> out[wire[m].expires] = 0
  fi
}

/* Grants what is wanted, or as much of it as the rules allow; the answer takes the question's place. */
inline answer(m, want) {
  count_outstanding();
  count = CAP - count;   /* Never more than fit into the bucket together with what is outstanding. */
#ifdef BROKEN_RESERVE
  count = CAP;
#endif
  if :: left + RESERVE < count -> count = left + RESERVE :: else fi;
  if :: want < count -> count = want :: else fi;
  if
  :: count <= 0 -> clear(m)
  :: else ->
     wire[m].kind = GRANT; wire[m].wants = 0; wire[m].spent = 0; wire[m].returned = 0;
     if :: left >= count -> wire[m].tokens = count
        :: left < count && left > 0 -> wire[m].tokens = left
        :: else -> wire[m].tokens = 0
     fi;
     wire[m].later = count - wire[m].tokens;
     if :: wire[m].later > 0 && left < 0 -> wire[m].wait = 1 - left
        :: wire[m].later > 0 && left >= 0 -> wire[m].wait = 1
        :: else
     fi;
#ifdef BROKEN_SCHEDULE
     wire[m].tokens = count; wire[m].later = 0; wire[m].wait = 0;
#endif
     left = left - count;
     wire[m].expires = now + LEASE;
     out[now + LEASE] = out[now + LEASE] + count
  fi
}

/* An answer arrives: it counts only if it is to the question that the node waits for. */
inline take_in(m) {
  who = wire[m].node;
  s = 0;
  do :: s < SLOTS && node[who].lease[s].expires > 0 -> s++ :: else -> break od;
  if
  :: node[who].asking && node[who].asked == wire[m].number && s < SLOTS ->
     node[who].lease[s].expires = wire[m].expires;
#ifdef BROKEN_DEADLINE
     node[who].lease[s].deadline = now + LEASE;
#else
     node[who].lease[s].deadline = node[who].sent + LEASE;
#endif
     if
     :: now < node[who].lease[s].deadline ->
        node[who].lease[s].tokens = wire[m].tokens; node[who].lease[s].later = wire[m].later;
        node[who].lease[s].wait = wire[m].wait
     :: else -> node[who].lease[s].expires = 0; node[who].lease[s].deadline = 0
     fi;
     node[who].asking = 0; node[who].sent = 0
  :: else
  fi
}

inline spend(n, l) {
  node[n].lease[l].tokens--;
  node[n].lease[l].spent++;
  judge--;
  assert(judge >= 0)
}

inline crash(n) {
  for (i : 0 .. SLOTS - 1) {
    node[n].lease[i].tokens = 0; node[n].lease[i].later = 0; node[n].lease[i].wait = 0;
    node[n].lease[i].spent = 0; node[n].lease[i].expires = 0; node[n].lease[i].deadline = 0
  }
  node[n].asking = 0; node[n].sent = 0
}

#define HOLDS(n, s) (node[n].lease[s].expires > 0)
#define MAY_SEND(n) (node[n].asked < REQUESTS && !node[n].asking)
#define ASKS(m) (wire[m].kind == ASK && wire[m].wants)

#define STEPS_OF_NODE(n) \
  :: d_step { node[n].lease[0].tokens > 0 -> spend(n, 0) } \
  :: d_step { node[n].lease[1].tokens > 0 -> spend(n, 1) } \
  :: d_step { MAY_SEND(n) -> send(n, 0, 0, 1) } \
  :: d_step { MAY_SEND(n) && HOLDS(n, 1) -> send(n, 1, 0, 1) } \
  :: d_step { MAY_SEND(n) && HOLDS(n, 0) -> send(n, 0, 1, 0) } \
  :: d_step { MAY_SEND(n) && HOLDS(n, 1) -> send(n, 1, 1, 0) } \
  :: d_step { node[n].asking -> node[n].asking = 0; node[n].sent = 0 } /* Gives up waiting. */ \
  :: d_step { HOLDS(n, 0) || HOLDS(n, 1) || node[n].asking -> crash(n) }

#ifdef BROKEN_DUPLICATE
#define AFTERWARDS(m)
#else
#define AFTERWARDS(m) clear(m)
#endif

#define STEPS_OF_WIRE(m) \
  :: d_step { ASKS(m) -> hear(m); answer(m, 1) } \
  :: d_step { ASKS(m) -> hear(m); answer(m, 2) } \
  :: d_step { wire[m].kind == ASK && !wire[m].wants -> hear(m); AFTERWARDS(m) } \
  :: d_step { wire[m].kind == GRANT -> take_in(m) }  /* It may come again. */ \
  :: d_step { wire[m].kind != NONE -> clear(m) }

active proctype World() {
  do
  STEPS_OF_NODE(0)
  STEPS_OF_NODE(1)
#if NODES > 2
  STEPS_OF_NODE(2)
#endif
  STEPS_OF_WIRE(0)
  STEPS_OF_WIRE(1)
  :: d_step { now < END -> tick(); skip }
  :: now == END -> break
  od
}
