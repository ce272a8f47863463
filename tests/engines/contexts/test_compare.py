"""Who is found to have become slower, one situation each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.engines.contexts.traced import (
    DISK,
    FILE,
    PIPE,
    SOCKET,
    TIMER,
    UNINTERRUPTIBLE,
    Process,
    Thread,
    ran,
    slept,
    traced,
    waited,
)
from tests.engines.made import Made
from tests.engines.symbol_rankings import by_off_cpu_time
from whyperf.engines.contexts.compare import compare
from whyperf.engines.contexts.findings import findings
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.ranking import ranked_contexts
from whyperf.engines.run import Run
from whyperf.recording.schemas.tables import table_named

NOISE = (1.0, 1.01, 0.99)


def found(good, bad):
    comparison = compare([Run(one) for one in good], [Run(one) for one in bad])
    return [] if comparison is None else findings(comparison)


def program(steps, **more):
    """Three runs of a program with one thread."""
    return [traced([Thread(steps(factor), main=True)], **more) for factor in NOISE]


def test_a_sleep_in_a_plug_in_is_the_plug_ins():
    def steps(delay):
        return lambda factor: [ran("main serve", 50 * factor), slept("main serve plug:filter", delay * factor)]

    (first,) = found(program(steps(5)), program(steps(200)))
    assert (first.function.name, first.function.module) == ("filter", "mod_plug.so")
    assert (first.pattern, first.detail.layer.value, first.detail.external) == ("external", "plug-in", True)
    assert first.path == ("main", "serve", "filter")
    assert "sleeps for 195 ms more per run (clock_nanosleep)" in first.why
    assert "The wait is in mod_plug.so, a plug-in." in first.why
    assert first.detail.waits[0].kind == "sleep"
    assert first.detail.latency_s.conservative == pytest.approx([0.005, 0.2], rel=0.02)


@pytest.mark.parametrize(
    ("stack", "name", "layer"),
    [
        ("main load", "load", Layer.MAIN),
        ("main lib:parse", "parse", Layer.OWN_LIBRARY),
        ("main load sys:inflate", "inflate", Layer.THIRD_PARTY),
        ("main load plug:read_all", "read_all", Layer.PLUG_IN),
        ("kernel:worker_thread kernel:writeback", "writeback", Layer.KERNEL),
    ],
)
def test_every_layer_can_answer(stack, name, layer):
    def steps(delay):
        return lambda factor: [ran("main", 50 * factor), waited(stack, delay * factor)]

    first, *_ = found(program(steps(1)), program(steps(300)))
    assert (first.function.name, first.detail.layer.value, first.detail.external) == (name, layer.value, layer.external)


@pytest.mark.parametrize(
    ("program", "library", "layer"),
    [
        ("/src/tool", "/src/libown.so.1", Layer.OWN_LIBRARY),
        ("/opt/app/bin/tool", "/opt/app/lib/libown.so.1", Layer.OWN_LIBRARY),
        ("/home/me/project/src/tool", "/home/me/project/lib/libown.so.1", Layer.OWN_LIBRARY),
        ("/opt/app/bin/tool", "/opt/other/lib/libown.so.1", Layer.THIRD_PARTY),
        ("/usr/bin/tool", "/home/me/build/libown.so.1", Layer.THIRD_PARTY),
        ("/usr/local/bin/tool", "/usr/local/lib/libown.so.1", Layer.OWN_LIBRARY),
    ],
)
def test_own_libraries_came_with_the_program(program, library, layer):
    def runs(delay):
        made = []
        for factor in NOISE:
            threads = [Thread([ran("main", 50), slept("main lib:parse", delay * factor)], main=True)]
            one = traced(threads, processes=(Process(), Process("beside", "met")))
            tables = {
                **one.tables,
                "modules": changed(
                    one.tables["modules"],
                    "path",
                    lambda row: library if row["name"] == "libown.so.1" else row["path"],
                ),
                # Whose library it is does not depend on who else was seen.
                "processes": changed(
                    one.tables["processes"],
                    "executable",
                    lambda row: program if row["origin"] == "exec" else f"{library.rpartition('/')[0]}/beside",
                ),
            }
            made.append(Made(one.path, one.manifest, tables))
        return made

    (first,) = found(runs(1), runs(300))
    assert first.detail.layer.value == layer.value


def changed(table, name, value):
    return table.set_column(
        table.schema.get_field_index(name), name, pa.array([value(row) for row in table.to_pylist()], pa.string())
    )


def test_libc_answers_for_connections_that_it_opens_itself():
    """A resolver's wait is the resolver's; a plain poll() is its caller's."""

    def steps(delay):
        resolver = "main fetch libc:getaddrinfo libc:__res_context_send"
        return lambda factor: [
            ran("main", 50 * factor),
            waited(f"{resolver} libc:socket", 0.1, "socket"),
            waited(f"{resolver} libc:poll", delay * factor, "poll", object=SOCKET),
        ]

    first, *_ = found(program(steps(1)), program(steps(300)))
    assert (first.function.name, first.detail.layer.value) == ("getaddrinfo", "libc")

    def plain(delay):
        return lambda factor: [
            ran("main", 50 * factor),
            waited("main fetch libc:socket", 0.1, "socket"),
            waited("main fetch libc:poll", delay * factor, "poll", object=SOCKET),
        ]

    first, *_ = found(program(plain(1)), program(plain(300)))
    assert (first.function.name, first.detail.layer.value) == ("fetch", "main binary")


def test_stripped_code_ranks_by_module_and_offset():
    def steps(delay):
        return lambda factor: [ran("main", 50 * factor), slept("main ?", delay * factor)]

    first, *_ = found(program(steps(1), debug="none"), program(steps(300), debug="none"))
    assert first.function.name == "tool+0x1000"


def test_added_running_time_is_told_apart_from_waits():
    def steps(busy):
        return lambda factor: [ran("main crunch", busy * factor), slept("main", 100 * factor)]

    first, *_ = found(program(steps(100)), program(steps(900)))
    assert (first.function.name, first.pattern) == ("crunch", "long-run")
    assert first.detail.blocked_s == (0, 0)
    assert first.detail.running_s == pytest.approx([0.1, 0.9], rel=0.15)


def test_waiting_for_a_cpu_is_nobodys_latency():
    def steps(delay):
        return lambda factor: [ran("main crunch", 100), waited("main crunch", delay * factor, state=0)]

    assert found(program(steps(1)), program(steps(900))) == []


@pytest.mark.parametrize("delays", [(300,), (300, 900), (300, 900, 2000)])
def test_what_any_two_runs_show_more_runs_do_not_make_doubtful(delays):
    """Bad runs that differ among themselves are bad all the same."""

    def run(delay):
        return traced([Thread([ran("main", 50), slept("main serve plug:filter", delay)], main=True)])

    first, *_ = found([run(1 + number) for number in range(len(delays))], [run(delay) for delay in delays])
    assert first.function.name == "filter"


def test_runs_do_not_agree_better_than_their_samples_tell():
    def side(samples):
        return [traced([Thread([ran("main a", 90), ran("main b", 10 * count)], main=True)]) for count in samples]

    assert found(side([0, 0, 0]), side([2, 2, 1])) == []
    (first,) = found(side([0, 0, 0]), side([6, 6, 5]))
    assert first.function.name == "b"


def test_a_handful_of_samples_is_no_difference_and_one_stall_is():
    """Of a program that hardly ran, because others had the CPU, next to nothing is known."""

    def run(*steps):
        others = waited("main", 900, state=0)
        return traced([Thread([ran("main a", 20), others, *steps], main=True)])

    assert found([run()], [run(ran("main b", 40))]) == []
    (first,) = found([run()], [run(slept("main b", 40))])
    assert first.function.name == "b"
    (first,) = found([run()], [run(ran("main b", 400))])
    assert first.function.name == "b"


def test_disk_waits_are_told():
    def steps(delay):
        wait = {"state": UNINTERRUPTIBLE, "context": DISK, "object": FILE}
        return lambda factor: [
            ran("main", 50),
            waited("main save libc:fsync kernel:ext4_sync_file", delay * factor, "fsync", **wait),
        ]

    first, *_ = found(program(steps(1)), program(steps(300)))
    assert "waits for files or the disk for" in first.why
    assert (first.detail.waits[0].kind, first.detail.waits[0].call) == ("disk", "fsync")


def test_the_other_side_of_a_socket_is_named():
    def steps(delay):
        reply = waited("main ask libc:recvfrom", delay, "recvfrom", object=SOCKET, waker=1)
        return [ran("main", 50), reply]

    def runs(delay):
        return [
            traced(
                [Thread(steps(delay * factor), main=True), Thread([ran("serve", 1)], process=1)],
                processes=(Process(), Process("database", "met")),
            )
            for factor in NOISE
        ]

    first, *_ = found(runs(1), runs(300))
    assert first.detail.other_side == "database"
    assert "(recvfrom, with database)" in first.why


def test_whoever_waits_for_a_slow_thread_only_waits_along():
    def runs(delay):
        def one(factor):
            worker = [ran("start_thread worker", 1), slept("start_thread worker fetch", delay * factor)]
            idler = [slept("start_thread tick", 10) for _ in range(40)]
            main = [ran("main", 1), waited("main request libc:futex_wait", delay * factor + 1, "futex", waker=1)]
            return traced([Thread(main, main=True), Thread(worker), Thread(idler)])

        return [one(factor) for factor in NOISE]

    (first,) = found(runs(5), runs(300))
    assert first.function.name == "fetch"
    assert first.path == ("start_thread", "worker", "fetch")


def server(delay, requests=40, **more):
    """An event loop that sleeps while it handles, beside threads that have nothing to do."""

    def one(factor):
        handled = [
            step
            for _ in range(requests)
            for step in (
                waited("main loop libc:epoll_wait", 3 * factor, "epoll_wait"),
                ran("main loop handle", 2 * factor),
                slept("main loop handle plug:throttle", delay * factor),
            )
        ]
        length = sum(step.ms for step in handled)
        idle = [slept("start_thread tick", 50) for _ in range(int(length / 50))]
        pool = [waited("start_thread work pop libc:futex_wait", length, "futex", waker=-1)]
        return traced([Thread(handled, main=True), Thread(idle), Thread(pool)], **more)

    return [one(factor) for factor in NOISE]


def test_a_servers_idle_threads_are_no_cause():
    (first,) = found(server(1, stopped_by="driver"), server(30, stopped_by="driver"))
    assert first.function.name == "throttle"


CONDITION = {"call": "futex", "argument1": 137, "waker": 1}  # FUTEX_WAIT_BITSET, private
EPOLL = {"call": "epoll_wait"}


def busy_server(delay, rest, jobs=12):
    """A thread whose work waits so often that next to nothing else is seen of it."""

    def one(factor):
        steps = [waited("start loop libc:connect", 1, "connect")]
        for _ in range(jobs):
            steps.append(waited("start loop next_job libc:wait", 0.1, **rest))
            for _ in range(20):
                steps += [ran("start loop work", 0.2), slept("start loop work plug:throttle", delay * factor)]
        return traced([Thread(steps, main=True), Thread([ran("start other", 1)])], stopped_by="driver")

    return [one(factor) for factor in NOISE]


@pytest.mark.parametrize("rest", [EPOLL, CONDITION])
@pytest.mark.parametrize("delay", [0.001, 1])
def test_what_work_waits_for_is_no_rest_however_often_it_does(delay, rest):
    """Neither where the good runs hardly wait there, nor where they do so nearly all of the time."""
    (first,) = found(busy_server(delay, rest), busy_server(30, rest))
    assert first.function.name == "throttle"


def test_what_only_the_bad_runs_wait_for_within_a_known_loop_is_no_rest():
    def one(delay, factor):
        work = [slept("start loop work plug:throttle", delay * factor)] * 20 if delay else []
        job = [waited("start loop libc:read", 1, "read", object=SOCKET), ran("start loop work", 0.2), *work]
        return traced([Thread(job * 12, main=True)], stopped_by="driver")

    (first,) = found(*([one(delay, factor) for factor in NOISE] for delay in (0, 30)))
    assert first.function.name == "throttle"


@pytest.mark.parametrize("stack", ["main watch libc:read", "libc:sigsuspend", "watch libc:read"])
def test_a_thread_that_only_the_bad_runs_show_rests_too(stack):
    """Its wait began before the good runs' windows did; its stack may have been cut."""

    def one(*others):
        served = [waited("start loop libc:epoll_wait", 5, "epoll_wait"), ran("start loop handle", 5)] * 30
        return traced([Thread(served, main=True), *others], stopped_by="driver")

    pauses = Thread([waited(stack, 250, "read", object=PIPE)])
    assert found([one()], [one(pauses)]) == []
    rests_beside = Thread([waited("libc:pause", 200, "pause")])
    assert found([one(rests_beside)], [one(rests_beside, pauses)]) == []


def test_a_wait_before_the_work_began_is_no_rest():
    """Only what a thread comes back to: it rests where it sleeps between two ticks."""

    def one(ticks):
        begun = [waited("start libc:poll", 50, "poll")]
        steps = [step for _ in range(ticks) for step in (slept("start tick", 30), ran("start tick beat", 0.01))]
        served = [waited("main loop libc:epoll_wait", 5, "epoll_wait"), ran("main loop handle", 5)] * 30
        return traced([Thread(served, main=True), Thread([*begun, *steps])], stopped_by="driver")

    assert found([one(10)] * 2, [one(60)] * 2) == []


def test_programs_without_a_shared_libc_rest_too():
    def one(delay):
        handled = [
            step
            for _ in range(40)
            for step in (
                waited("main loop epoll", 3, "epoll_wait"),
                ran("main loop handle", 2),
                waited("main loop handle doze", delay, "nanosleep", context=TIMER),
            )
        ]
        pool = [waited("thread pop wait", 50, "futex") for _ in range(int((5 + delay) * 40 / 50))]
        return [traced([Thread(handled, main=True), Thread(pool)], stopped_by="driver", offset_ms=at) for at in (1, 3)]

    (first,) = found(one(1), one(30))
    assert first.function.name == "doze"


def test_one_long_wait_in_a_window_of_time_says_nothing():
    good, bad = server(1, 40, stopped_by="for")[:1], server(1, 40, stopped_by="for")[:1]
    stall = [waited("main loop handle libc:fsync", 5000, "fsync", state=UNINTERRUPTIBLE)]
    events = [ran("main loop handle", 2), waited("main loop libc:epoll_wait", 3, "epoll_wait")] * 40
    bad = [traced([Thread([*events, *stall], main=True)], stopped_by="for")]
    assert found(good, bad) == []


def test_work_that_was_counted_is_divided_by():
    good = server(1, 40, stopped_by="driver", units=40)
    assert found(good, server(1, 120, stopped_by="driver", units=120)) == []
    (first,) = found(good, server(30, 10, stopped_by="driver", units=10))
    assert (first.function.name, first.detail.unit) == ("throttle", "request")


def test_windows_of_time_are_compared_by_iterations():
    good = server(1, 40, stopped_by="for")
    assert found(good, server(1, 120, stopped_by="for")) == []
    (first,) = found(good, server(30, 25, stopped_by="for"))
    assert (first.function.name, first.detail.unit) == ("throttle", "iteration")
    assert "more per iteration" in first.why


def test_loops_that_have_nothing_to_do_with_each_other_are_compared_each_by_itself():
    """Twice the load of another program is not half the iterations' length of this one."""

    def window(turns, others):
        def loop(name, times):
            steps = [
                (
                    waited(f"{name} libc:epoll_wait", 3, "epoll_wait"),
                    ran(f"{name} {name}_work", 2),
                    slept(f"{name} nap", 1),
                )
                for _ in range(times)
            ]
            return [step for turn in steps for step in turn]

        threads = [Thread(loop("first", turns), main=True), Thread(loop("second", others), process=1)]
        processes = (Process("one", "attached"), Process("two", "attached"))
        return [traced(threads, processes=processes, stopped_by="for", scope="all", offset_ms=at) for at in (1, 3, 5)]

    assert found(window(100, 400), window(200, 100)) == []


def test_windows_without_iterations_are_compared_by_share():
    def steps(delay):
        return lambda factor: [ran("main a", 100 * factor), slept("main b", delay * factor)]

    good, bad = (program(steps(delay), stopped_by="for") for delay in (10, 400))
    first, *_ = found(good, bad)
    assert (first.function.name, first.detail.unit) == ("b", "share")
    assert "of the time" in first.why


def jittered(seed, runs=1):
    """The same behaviour, with the noise of waits, of sampling and of the machine."""
    rng = np.random.default_rng(seed)

    def one():
        steps = []
        for _ in range(60):
            steps += [
                ran("main serve", rng.gamma(4, 1)),
                waited("main serve libc:read", rng.exponential(3), "read", object=SOCKET),
                ran("main store", rng.gamma(4, 0.5)),
                waited("main store", rng.exponential(1), state=0),
                slept("main pace", 2 + rng.exponential(0.2)),
            ]
        if rng.random() < 0.2:
            steps.append(waited("main store libc:fsync", 40, "fsync", state=UNINTERRUPTIBLE))  # a stall
        return traced([Thread(steps, main=True)], offset_ms=float(rng.uniform(0, 10)))

    return [one() for _ in range(runs)]


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [1, 3])
def test_the_same_behaviour_has_no_slower_context(runs):
    alarms = sum(bool(found(jittered(2 * seed, runs), jittered(2 * seed + 1, runs))) for seed in range(20))
    assert alarms == 0


def test_without_events_there_is_nothing_to_say():
    from tests.engines.made import recording

    plain = recording([(("main", "f"), 1.0)])
    assert compare([Run(plain)], [Run(plain)]) is None
    assert compare([Run(plain)], [Run(jittered(1)[0])]) is None


def test_empty_and_partial_tables_are_no_fault():
    whole = jittered(3)[0]
    nothing = traced([Thread([slept("main", 1)], main=True)])
    assert found([nothing], [nothing]) == []
    assert found([nothing], [whole]) is not None
    # No thread has a process, no stack is known, no module is: less is said, nothing breaks.
    bare = dict(whole.tables)
    for name in ("stacks", "frames", "functions", "modules", "processes"):
        bare[name] = table_named(name).schema.empty_table()
    events, threads = bare["events"], bare["threads"]
    bare["events"] = events.set_column(
        events.schema.get_field_index("stack"), "stack", pa.array([-1] * events.num_rows, pa.int32())
    )
    bare["threads"] = threads.set_column(
        threads.schema.get_field_index("process"), "process", pa.array([-1] * threads.num_rows, pa.int32())
    )
    assert found([Made(whole.path, whole.manifest, bare)], [Made(whole.path, whole.manifest, bare)]) == []


def test_system_calls_place_waits_whose_own_stacks_were_left_out():
    def without_switch_stacks(one):
        events = one.tables["events"]
        kinds = np.array(events.column("kind"))
        stacks = np.where(kinds == 1, -1, np.array(events.column("stack")))
        at = events.schema.get_field_index("stack")
        tables = {**one.tables, "events": events.set_column(at, "stack", pa.array(stacks, pa.int32()))}
        return Made(one.path, one.manifest, tables)

    def steps(delay):
        return lambda factor: [ran("main serve", 50 * factor), slept("main serve plug:filter", delay * factor)]

    good, bad = ([without_switch_stacks(one) for one in program(steps(delay))] for delay in (5, 200))
    (first,) = found(good, bad)
    assert (first.function.name, first.share) == ("filter", pytest.approx(1.0))


def test_system_calls_place_waits_whose_own_stacks_were_cut():
    # GIVEN programs that sleep as soon as they are started, some before their stacks could be told
    def steps(delay):
        def made(factor):
            whole = slept("main serve plug:filter", delay * factor)
            cut = replace(whole, cut_to=("libc:clock_nanosleep",))
            return [ran("main serve", 50 * factor), *([cut, whole] if factor > 1 else [whole, cut])]

        return made

    (first,) = found(*(program(steps(delay)) for delay in (5, 200)))
    # THEN all of it is where they sleep
    assert (first.function.name, first.share) == ("filter", pytest.approx(1.0))


def test_contexts_are_ranked_with_the_functions_on_their_way():
    def steps(delay):
        return lambda factor: [
            ran("main", 50),
            slept("main a plug:filter", delay * factor),
            slept("main b", delay * factor / 3),
        ]

    good, bad = (program(steps(delay)) for delay in (1, 300))
    comparison = compare([Run(one) for one in good], [Run(one) for one in bad])
    assert comparison is not None
    first, second = ranked_contexts(comparison)
    assert [step.function for step in first.steps] == [
        "main", "a", "filter", "clock_nanosleep", "hrtimer_nanosleep",
    ]  # fmt: skip
    assert first.steps[first.hot].function == "filter"
    assert first.steps[first.hot].rank == 1
    assert (first.share, second.share) == (pytest.approx(0.75, abs=0.01), pytest.approx(0.25, abs=0.01))
    assert [step.layer for step in first.steps[2:]] == [Layer.PLUG_IN, Layer.LIBC, Layer.KERNEL]


def test_the_longest_off_cpu_stack_is_whoever_waits_longest():
    """What a ranking of off-CPU stacks says: the idle thread first."""
    main = [ran("main", 5), slept("main plug:filter", 100)]
    idle = [waited("start_thread tick libc:futex_wait kernel:futex_wait_queue", 1000, "futex")]
    run = Run(traced([Thread(main, main=True), Thread(idle)]))
    ranked = by_off_cpu_time([run], [run])
    assert [(one.function.name, round(one.value, 3)) for one in ranked] == [
        ("futex_wait", 1.0),
        ("clock_nanosleep", 0.1),
    ]


def test_timers_interrupt_whoever_runs():
    """The thread that a timer's interrupt came to did not end the wait."""

    def runs(delay):
        def one(factor):
            sleep = waited("main nap libc:poll", delay * factor, "poll", context=TIMER, waker=1)
            other = [ran("start_thread spin", delay * factor)]
            return traced([Thread([ran("main", 1), sleep], main=True), Thread(other)])

        return [one(factor) for factor in NOISE]

    (first,) = found(runs(5), runs(300))
    assert first.function.name == "nap"
