"""ASTRA-sim's files: what is read from them, and what is said about mistakes in them."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import ConfigError
from simcore.files.yaml_file import read_yaml
from simcore.formats.astra.collective_names import algorithms_of
from simcore.formats.astra.groups_file import process_groups, read_groups
from simcore.formats.astra.memory_file import read_remote_memory
from simcore.formats.astra.network_file import plain_lists, read_network
from simcore.formats.astra.options import read_command
from simcore.formats.astra.system_file import CommandOptions, read_system
from simcore.formats.astra.traces.custom import load_custom
from simcore.formats.astra.traces.load import trace_path
from simcore.formats.astra.traces.program import Machine
from simcore.formats.chakra import IoInfo, Node
from simcore.terms import CollectiveKind

SYSTEM: dict[str, object] = {
    "scheduling-policy": "LIFO",
    "collective-optimization": "localBWAware",
    "preferred-dataset-splits": 4,
}
NETWORK = "topology: [Ring]\nnpus_count: [8]\nbandwidth: [50.0]\nlatency: [500.0]\n"


def put(folder: Path, content: object) -> Path:
    path = folder / "file"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_network_bandwidth_is_in_gigabytes_of_2_to_the_30(tmp_path: Path) -> None:
    (dimension,) = read_network(put(tmp_path, NETWORK), [])
    assert dimension.bytes_per_ns == 50.0 * 1073741824 / 1e9
    assert (dimension.topology, dimension.npus, dimension.latency_ns) == ("ring", 8, 500.0)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("[Ring]", "[Mesh]", r"topology\[0\]: must be one of Ring, FullyConnected, Switch"),
        ("[Ring]", "[ring]", r"did you mean 'Ring'"),
        ("[8]", "[1]", r"npus_count\[0\]: must be 2 or more, but got 1"),
        ("[8]", "[8, 2]", r"npus_count: must have one entry per topology \(1\)"),
        ("[50.0]", "[0]", r"bandwidth\[0\]: must be above 0 GB/s"),
        ("[50.0]", "[.nan]", r"bandwidth\[0\]: must be above 0 GB/s"),
        ("[500.0]", "[-1]", r"latency\[0\]: must be from 0 to 2\^53 ns"),
        ("[500.0]", "[1e30]", r"latency\[0\]: must be from 0 to 2\^53 ns"),
        ("[50.0]", "[.inf]", r"bandwidth\[0\]: must be above 0 GB/s, but got inf"),
        ("[500.0]", "[fast]", r"latency\[0\]: must be a number, but got 'fast'"),
        ("latency: [500.0]", "", "latency: must be a list"),
    ],
)
def test_network_mistakes_are_named(tmp_path: Path, old: str, new: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        read_network(put(tmp_path, NETWORK.replace(old, new)), [])


def test_unknown_network_keys_are_remarked_on(tmp_path: Path) -> None:
    notes: list[str] = []
    read_network(put(tmp_path, NETWORK + "latencies: [1]\n"), notes)
    assert len(notes) == 1
    assert "'latencies' is ignored (did you mean 'latency'?)" in notes[0]


def test_system_values_reach_the_engine(tmp_path: Path) -> None:
    content = SYSTEM | {
        "endpoint-delay": 25,
        "active-chunks-per-dimension": 2,
        "local-mem-bw": 900,
        "all-reduce-implementation": ["ring", "direct4"],
        "all-gather-implementation-custom": ["custom/algo"],
        "model-shared-bus": 1,
        "L": 1,
        "o": 2,
        "g": 3,
        "G": 0.5,
        "roofline-enabled": 1,
        "peak-perf": 100,
        "replay-only": 0,
        "trace-enabled": 1,
        "track-local-mem": 1,
    }
    command = CommandOptions(queues_per_dimension=2, injection_scale=2.5, rendezvous=True)
    notes: list[str] = []
    system = read_system(put(tmp_path, content), command, notes)
    options = system.options
    assert notes == []
    assert (options.chunks, options.active_chunks_per_dimension) == (4, 2)
    assert (options.queues_per_dimension, options.rendezvous) == (2, True)
    assert options.endpoint_delay_ns == 62  # 25 * 2.5, cut
    assert options.algorithms == {0: algorithms_of(("ring", "direct4"))}
    assert options.shared_bus is not None
    assert options.shared_bus.gap_ns_per_byte == 0.5
    assert system.roofline is not None
    assert system.roofline.peak_flop_per_s == 100e12
    assert system.custom_prefixes == {CollectiveKind.ALL_GATHER: "custom/algo"}
    assert system.memory_trace == "local_mem_trace"
    assert system.record_trace
    assert not system.replay_only


def test_defaults_are_astra_sims_and_injection_scale_leaves_the_default_delay(
    tmp_path: Path,
) -> None:
    system = read_system(put(tmp_path, SYSTEM), CommandOptions(injection_scale=3.0), [])
    assert system.options.endpoint_delay_ns == 10
    assert system.options.active_chunks_per_dimension == 1
    assert system.options.shared_bus is None
    assert system.roofline is None
    assert system.memory_trace is None


def test_unknown_and_missing_system_keys_are_remarked_on(tmp_path: Path) -> None:
    content = {"preferred-dataset-splits": 1, "boost-mode": 1, "endpoint-dealy": 3, "colour": 1}
    notes: list[str] = []
    read_system(put(tmp_path, content), CommandOptions(), notes)
    assert len(notes) == 4
    assert "'endpoint-dealy' is ignored (did you mean 'endpoint-delay'?)" in notes[0]
    assert "'colour' is ignored." in notes[1]
    assert "collective-optimization is missing; baseline is taken" in notes[2]
    assert "scheduling-policy is missing; LIFO is taken" in notes[3]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"scheduling-policy": "lifo"}, r"must be one of LIFO, FIFO, EXPLICIT.*got 'lifo'"),
        ({"collective-optimization": "themis"}, "must be one of baseline, localBWAware"),
        ({"active-chunks-per-dimension": 0}, "must be a whole number from 1"),
        ({"endpoint-delay": -1}, "must be a whole number from 0"),
        ({"endpoint-delay": "10"}, "must be a number, but got '10'"),
        ({"all-reduce-implementation": "ring"}, "must be a list of texts"),
        ({"all-reduce-implementation-custom": ["a", "b"]}, "must hold one path prefix"),
        ({"roofline-enabled": 1, "local-mem-bw": 5}, "peak-perf: must be above 0"),
        (
            {"roofline-enabled": 1, "local-mem-bw": 5, "peak-perf": 1e300},
            "peak-perf: must be above 0 and below 1e\\+30",
        ),
        ({"local-mem-bw": -5}, "local-mem-bw: must be 0 GB/s or more"),
    ],
)
def test_system_mistakes_are_named(tmp_path: Path, change: dict[str, object], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        read_system(put(tmp_path, SYSTEM | change), CommandOptions(), [])


def test_broken_json_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 2: must be valid JSON"):
        read_system(put(tmp_path, '{\n"a" 1}'), CommandOptions(), [])


def test_remote_memory_numbers_are_cut_with_a_remark(tmp_path: Path) -> None:
    content = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 100, "remote-mem-bw": 0.9}
    notes: list[str] = []
    memory = read_remote_memory(put(tmp_path, content), 4, notes)
    assert (memory.kind, memory.latency_ns, memory.bytes_per_ns) == ("pool", 100, 0)
    assert "remote-mem-bw 0.9 is cut to 0" in notes[0]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ({}, "memory-type: must be one of"),
        ({"memory-type": "POOL"}, "must be one of .*got 'POOL'"),
        ({"memory-type": "MEMORY_POOL", "remote-mem-bw": 1}, "remote-mem-latency: is required"),
        (
            {
                "memory-type": "PER_NODE_MEMORY_EXPANSION",
                "remote-mem-latency": 1,
                "remote-mem-bw": 1,
                "num-nodes": 1,
                "num-npus-per-node": 2,
            },
            "must cover 4 NPUs",
        ),
    ],
)
def test_remote_memory_mistakes_are_named(
    tmp_path: Path, content: dict[str, object], rule: str
) -> None:
    with pytest.raises(ConfigError, match=rule):
        read_remote_memory(put(tmp_path, content), 4, [])


def test_groups_keep_the_order_of_the_file(tmp_path: Path) -> None:
    notes: list[str] = []
    groups = read_groups(put(tmp_path, {"2": [3, 1], "7": [0], "0": [1]}), 4, notes)
    assert groups == {2: (3, 1), 7: (0,)}
    assert "group 0 is ignored" in notes[0]


@pytest.mark.parametrize(
    "content",
    [[], {"tp": [0]}, {"1": []}, {"1": [0, 0]}, {"1": [4]}, {"1": [0.5]}, {"1": 3}],
    ids=str,
)
def test_broken_groups_are_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(ConfigError):
        read_groups(put(tmp_path, content), 4, [])


def test_process_groups_of_pytorch_are_read_from_their_repr() -> None:
    text = '[{"pg_name": "0", "ranks": []}, {"pg_name": "3", "pg_desc": "it\'s", "ranks": [2, 1]}, '
    text += '{"pg_name": "4", "ranks": []}]'
    node = Node(id=1, type=1, inputs=IoInfo(values=repr([text])))
    assert process_groups(node, npus=3, at="here") == {3: (2, 1), 4: (0, 1, 2)}
    assert process_groups(Node(id=1, type=1), npus=3, at="here") == {}
    with pytest.raises(ConfigError, match="here: input values"):
        process_groups(Node(id=1, inputs=IoInfo(values="['x']")), npus=3, at="here")


def test_command_options_are_read_and_others_remarked_on() -> None:
    notes: list[str] = []
    command = read_command(
        {
            "num-queues-per-dim": "2",
            "rendezvous-protocol": True,
            "comm-scale": 3,
            "inject-scale": "1",
        },
        notes,
    )
    assert command == CommandOptions(queues_per_dimension=2, rendezvous=True)
    assert notes == ["the option --inject-scale is ignored (did you mean 'injection-scale'?)."]
    for key, value in (
        ("num-queues-per-dim", "0"),
        ("num-queues-per-dim", "x"),
        ("rendezvous-protocol", "maybe"),
        ("injection-scale", -1),
    ):
        with pytest.raises(ConfigError, match=f"--{key}"):
            read_command({key: value}, [])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["topology", "npus_count", "bandwidth", "latency", "Latency", "#"]),
            st.sampled_from([": [", ": [ ", ":[", ": ", " : ["]),
            st.lists(
                st.sampled_from(
                    ["Ring", "Switch", "8", "08", "0", "50.0", "5.", ".5", "1e3", "-1", "0x10",
                     "1_0", "'4'", "yes", "Torus", "", "1.5.2", "٣", "8 # c", "[3]"]
                ),
                max_size=3,
            ),
            st.sampled_from(["]", " ]", "", "] ", "] # why", "]# why", "],"]),
        ),
        max_size=4,
    )
)  # fmt: skip
@settings(derandomize=True, deadline=None, max_examples=300)
def test_plain_network_files_are_read_as_yaml_reads_them(
    parts: list[tuple[str, str, list[str], str]],
) -> None:
    text = "".join(key + colon + ", ".join(words) + end + "\n" for key, colon, words, end in parts)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.yml"
        path.write_text(text, encoding="utf-8")
        plain = plain_lists(path.read_text())
        if plain is not None:
            assert plain == (read_yaml(path) or {})


def test_published_network_files_need_no_yaml_reader(tmp_path: Path) -> None:
    path = tmp_path / "network.yml"
    path.write_text("# one\ntopology: [ Ring ]  # or Switch\nbandwidth: [ 50.0, 12 ]  \n\n")
    assert plain_lists(path.read_text()) == {"topology": ["Ring"], "bandwidth": [50.0, 12]}


@pytest.mark.parametrize("value", ["inf", "nan", 10**400, "1e999", None, [1]])
def test_a_scale_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="--injection-scale: must be a number"):
        read_command({"injection-scale": value}, [])


def test_a_delay_that_no_clock_can_count_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "system.json"
    path.write_text('{"endpoint-delay": 10}')
    with pytest.raises(ConfigError, match="endpoint-delay: times --injection-scale=1e\\+30 must"):
        read_system(path, read_command({"injection-scale": 1e30}, []), [])


def test_the_name_of_a_place_is_cut_to_what_a_sentence_can_hold() -> None:
    told = str(ConfigError("x" * 5000 + "/a.json", "must be", got=1))
    assert len(told) < 600
    assert "/a.json: must be" in told


@pytest.mark.parametrize("line", ["-1: own", f"{2**64}: own", "true: own", "5: 7", "x: own"])
def test_a_map_of_algorithms_takes_node_ids_and_prefixes(line: str, tmp_path: Path) -> None:
    (tmp_path / "map.yml").write_text(f"{line}\n")
    system = read_system(
        put(tmp_path, {**SYSTEM, "per-node-custom-implementation": "map.yml"}), CommandOptions(), []
    )
    machine = Machine(npus=2, dimensions=1, has_remote_memory=False, system=system)
    with pytest.raises(ConfigError, match="must map node ids, from 0 to 2\\^64 - 1"):
        load_custom(system, machine, tmp_path)


@pytest.mark.parametrize("prefix", ["/", ".", "a/.."])
def test_a_prefix_without_a_name_of_its_own_leads_to_no_trace(prefix: str) -> None:
    assert trace_path(Path(prefix), 3) == Path(f"{prefix}.3.et")
