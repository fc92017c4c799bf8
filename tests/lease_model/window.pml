/* Leases of a fixed window or, compiled with SLIDING, of a sliding window counter (docs/leases.md), small
 * enough to look at every run of it. The world is that of bucket.pml.
 *
 * `admitted` is what all nodes together really admitted in the window that is under way at that moment: every
 * admission must be one that the limit's own formula allows, on what was really admitted.
 *
 * Compiled with BROKEN_… one rule of the protocol is left out; check.py expects that to be found.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef CAP
#define CAP 3
#endif
#ifndef WINDOW
#define WINDOW 3   /* Ticks. */
#endif
#ifndef END
#define END 7      /* The last tick. */
#endif
#ifndef REQUESTS
#define REQUESTS 3 /* How many messages a node sends. */
#endif
#ifndef RESERVE
#define RESERVE 2  /* Sliding: ticks of known decay that may be granted ahead. */
#endif

#define NONE 0
#define ASK 1
#define GRANT 2

#define ELAPSED(t) ((t) % WINDOW)
#define BEGIN(t) ((t) - (t) % WINDOW)
#ifdef SLIDING
#define CARRIED(weight, elapsed) ((weight) * (WINDOW - (elapsed)) / WINDOW)
#else
#define CARRIED(weight, elapsed) 0
#endif

typedef Lease {
  bit held;
  byte granted;
  byte spent;
  byte room;       /* What was left of the limit, apart from what the window before weighs. */
  byte weight;     /* What was used in the window before. */
  byte elapsed;    /* Of the window; moves on from the moment at which the answer came in. */
  byte window;     /* Names the lease to the store. */
  byte deadline
};
typedef Node {
  Lease lease;
  bit asking;
  byte asked;
  byte sent
};
typedef Message {
  byte kind;
  byte node;
  byte number;
  byte window;
  byte returned;
  bit wants;
  byte granted;
  byte room;
  byte weight;
  byte elapsed
};

Node node[NODES];
Message wire[2];
byte now = 0;
byte admitted = 0, admitted_before = 0;
byte used = 0, used_before = 0;  /* The store. */
hidden byte i, w, who;
hidden short count;

#define SPENDABLE(n) \
  (node[n].lease.held && node[n].lease.spent < node[n].lease.granted && \
   node[n].lease.spent + CARRIED(node[n].lease.weight, node[n].lease.elapsed) < node[n].lease.room)

inline drop_lease(n) {
  node[n].lease.held = 0; node[n].lease.granted = 0; node[n].lease.spent = 0; node[n].lease.room = 0;
  node[n].lease.weight = 0; node[n].lease.elapsed = 0; node[n].lease.window = 0; node[n].lease.deadline = 0
}

inline tick() {
  now++;
  if
  :: ELAPSED(now) == 0 ->
     admitted_before = admitted; admitted = 0;
     used_before = used; used = 0
  :: else
  fi;
  for (i : 0 .. NODES - 1) {
    if
    :: node[i].lease.held && now >= node[i].lease.deadline -> drop_lease(i)
    :: node[i].lease.held && now < node[i].lease.deadline -> node[i].lease.elapsed++
    :: else
    fi
  }
}

inline clear(m) {
  wire[m].kind = NONE; wire[m].node = 0; wire[m].number = 0; wire[m].window = 0; wire[m].returned = 0;
  wire[m].wants = 0; wire[m].granted = 0; wire[m].room = 0; wire[m].weight = 0; wire[m].elapsed = 0
}

inline send(n, gives, fetches) {
  node[n].asked++;
  if :: fetches -> node[n].asking = 1; node[n].sent = now :: else fi;
  w = 0;
  do :: w < 2 && wire[w].kind != NONE -> w++ :: else -> break od;
  if
  :: w < 2 ->
     wire[w].kind = ASK; wire[w].node = n; wire[w].number = node[n].asked; wire[w].wants = fetches;
     if
     :: gives ->
        wire[w].returned = node[n].lease.granted - node[n].lease.spent;
        wire[w].window = node[n].lease.window
     :: else
     fi
  :: else
  fi;
  if :: gives -> drop_lease(n) :: else fi
}

/* What comes back counts in the window that it was taken from, if that still counts. */
inline hear(m) {
  if
#ifdef BROKEN_LATE_RETURN
  :: wire[m].returned > 0 -> if :: used > wire[m].returned -> used = used - wire[m].returned :: else -> used = 0 fi
#else
  :: wire[m].returned > 0 && wire[m].window == BEGIN(now) -> used = used - wire[m].returned
#ifdef SLIDING
  :: wire[m].returned > 0 && wire[m].window + WINDOW == BEGIN(now) -> used_before = used_before - wire[m].returned
#endif
#endif
  :: else
  fi
}

/* Grants what is wanted, or as much of it as there is and will be soon. */
inline answer(m, want) {
  count = ELAPSED(now);
#ifdef SLIDING
  if :: count + RESERVE < WINDOW -> count = count + RESERVE :: else -> count = WINDOW - 1 fi;
#endif
  count = CAP - used - CARRIED(used_before, count);
  if :: want < count -> count = want :: else fi;
  if
  :: count <= 0 -> clear(m)
  :: else ->
     wire[m].kind = GRANT; wire[m].wants = 0; wire[m].returned = 0;
     wire[m].granted = count;
     wire[m].room = CAP - used;
     wire[m].weight = used_before;
     wire[m].elapsed = ELAPSED(now);
#ifdef BROKEN_SCHEDULE
     wire[m].weight = 0;
#endif
     wire[m].window = BEGIN(now);
     used = used + count
  fi
}

inline take_in(m) {
  who = wire[m].node;
  if
  :: node[who].asking && node[who].asked == wire[m].number && !node[who].lease.held ->
#ifdef BROKEN_DEADLINE
     node[who].lease.deadline = now + WINDOW - wire[m].elapsed;
#else
     node[who].lease.deadline = node[who].sent + WINDOW - wire[m].elapsed;
#endif
     if
     :: now < node[who].lease.deadline ->
        node[who].lease.held = 1; node[who].lease.granted = wire[m].granted; node[who].lease.room = wire[m].room;
        node[who].lease.weight = wire[m].weight; node[who].lease.elapsed = wire[m].elapsed;
        node[who].lease.window = wire[m].window
     :: else -> node[who].lease.deadline = 0
     fi;
     node[who].asking = 0; node[who].sent = 0
  :: else
  fi
}

inline spend(n) {
  node[n].lease.spent++;
  admitted++;
  assert(admitted + CARRIED(admitted_before, ELAPSED(now)) <= CAP)
}

inline crash(n) {
  drop_lease(n);
  node[n].asking = 0; node[n].sent = 0
}

#define MAY_SEND(n) (node[n].asked < REQUESTS && !node[n].asking)
#define ASKS(m) (wire[m].kind == ASK && wire[m].wants)

#define STEPS_OF_NODE(n) \
  :: d_step { SPENDABLE(n) -> spend(n) } \
  :: d_step { MAY_SEND(n) -> send(n, 0, 1) } \
  :: d_step { MAY_SEND(n) && node[n].lease.held -> send(n, 1, 1) } \
  :: d_step { MAY_SEND(n) && node[n].lease.held -> send(n, 1, 0) } \
  :: d_step { node[n].asking -> node[n].asking = 0; node[n].sent = 0 } /* Gives up waiting. */ \
  :: d_step { node[n].lease.held || node[n].asking -> crash(n) }

#ifdef BROKEN_DUPLICATE
#define AFTERWARDS(m)
#else
#define AFTERWARDS(m) clear(m)
#endif

#define STEPS_OF_WIRE(m) \
  :: d_step { ASKS(m) -> hear(m); answer(m, 1) } \
  :: d_step { ASKS(m) -> hear(m); answer(m, 2) } \
  :: d_step { ASKS(m) -> hear(m); answer(m, 3) } \
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
