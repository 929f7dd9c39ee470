"""A deterministic simulator, after those of FoundationDB and TigerBeetle: `make simulate`.

What is real: the worker (sessions, dispatcher, scheduler, holdings, visits, policies), the reading of pages, the
cache of names, upkeep, the catalog, and the SQLite store with its SQL, in memory. What is simulated: time and chance
(`world.py`), event loop and threads (`loop.py`), processes (`machine.py`), the failures of the store and the life of
sessions (`database.py`), the web (`web.py`), and an archive that forgets what was not synced (`archive.py`).

A seed draws a web, one or two crawls, up to four workers, small bounds of buffers, and what goes wrong
(`scenario.py`): processes are killed between any two callbacks and around any commit, frozen beyond their lease,
stopped and started; wall clocks jump, crawls pause; calls of the store are late, fail, are rolled back, lose their
answer or arrive twice. Three of four seeds have sessions as on PostgreSQL, with leases, the others as on SQLite, which
live as long as their process.

After each seed (`simulation.py`): the crawl has ended; every URL has one row, whose end is the oracle's
(`oracle.py`); no URL was asked for again after its end was committed; no flush was applied twice; limits are exact;
what `nephila verify` checks holds; every record that a row names is durable; no server was asked faster than its
delay, with more requests than allowed, before Retry-After, before robots.txt or against it; idle workers hold nothing
and leave no task, lease, grant or queue behind.

Why the real SQLite store and no model of it: a seed makes some 200 commits and takes 0.1 to 0.15 s of CPU on a busy
machine, of which a profile gives SQLite a fifth. A model would save no more, and be another thing that can be wrong.

What it cannot find: faults between two transactions that run at the same time on PostgreSQL (here they take turns),
of clocks of the store that jump, of real sockets, files and processes. tests/e2e has those.

Faults put in on purpose, and how many seeds it took to find them, from seed 0 on (the last seven were counted before
the last change of the store):

- a batch is applied again when it comes again: 1
- exchanges are not synced before rows name them: 1
- the clocks of hosts are not stored: 1
- a fenced session may go on writing: 2
- what a repeated batch brings is counted again: 2
- a queue is released while one of its visits is in flight: 6
- partitions are handed back with requests in flight: 13
- owners of other partitions are not told of new URLs: 16
- a batch loses a child when it is sent again: 35
- the grants of a dead session are not given back: 38
- queues that a lost answer handed out are not freed: 51
- requests go on after the lease has ended: 62
- hosts of a dead session do not rest a full delay: 99
"""
