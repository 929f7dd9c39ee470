"""Loaded by the processes of a machine whose wall clock is wrong: only the wall clock, as on a real one."""

import os
import time

SHIFT_SECONDS = int(os.environ.get("NEPHILA_TEST_CLOCK_SHIFT", "0"))

if SHIFT_SECONDS:
    right_time, right_time_ns = time.time, time.time_ns
    right_gettime, right_gettime_ns = time.clock_gettime, time.clock_gettime_ns

    def shift_of(clock: int) -> int:
        return SHIFT_SECONDS if clock == time.CLOCK_REALTIME else 0

    time.time = lambda: right_time() + SHIFT_SECONDS
    time.time_ns = lambda: right_time_ns() + SHIFT_SECONDS * 10**9
    time.clock_gettime = lambda clock: right_gettime(clock) + shift_of(clock)
    time.clock_gettime_ns = lambda clock: right_gettime_ns(clock) + shift_of(clock) * 10**9
