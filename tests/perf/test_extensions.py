"""Extensions of the user: what they add, and what is said of those that are wrong."""

import hashlib
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.perf.calling import BF16, args
from tracelens_tui.errors import UserError
from tracelens_tui.perf import extensions
from tracelens_tui.perf.categories import op_category
from tracelens_tui.perf.extensions import extension_record, load_extensions
from tracelens_tui.perf.platforms import detect, load_platform
from tracelens_tui.perf.registry import default_registry
from tracelens_tui.trace.types import DeviceProperties, Source, TraceMetadata

HEAD = """
from tracelens_tui.perf.platform_types import Peak, Platform
from tracelens_tui.perf.types import OpCost, OpModel
"""
GOOD = (
    HEAD
    + """
from dataclasses import dataclass

@dataclass(slots=True)
class Sizes:
    n: int

def cost(args):
    sizes = Sizes(args.dims[0][0])
    return OpCost(sizes.n, 4 * sizes.n, 4 * sizes.n, "vector", "fp32")

MODELS = [OpModel(("mine::op",), "Mine", "MyOps", cost, prefixes=("mine::many_",))]
CATEGORIES = {"aten::mm": "MyGEMM"}
PLATFORMS = [
    Platform(
        name="Mine-1", vendor="", arch="", sm_count=None, memory_gb=None, mem_bw_gbps=1000.0, measured_bw_gbps=None,
        peaks={"vector_fp32": Peak(datasheet=None, achievable=10.0, grade="own", source="me")},
    )
]
"""
)


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    monkeypatch.setattr(extensions, "entry_points", lambda group: [])


@pytest.fixture
def written(tmp_path):
    def write(source, name="mine.py"):
        (tmp_path / name).write_text(source)
        return tmp_path / name

    return write


def test_models_categories_and_platforms(written, tmp_path):
    own = load_extensions([written(GOOD)])
    registry = own.registry()
    cost = registry.cost_of(args("mine::op", [[8]], BF16))
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (8, 64)
    assert registry.model("mine::many_17") is not None
    assert op_category("mine::op", registry=registry) == "MyOps"
    assert op_category("aten::mm", registry=registry) == "MyGEMM"
    assert op_category("aten::bmm", registry=registry) == "GEMM"
    assert load_platform("mine1", own.platforms).mem_bw_gbps == 1000
    metadata = TraceMetadata(Source("t", "kineto", 1), devices=(DeviceProperties(0, "Mine-1"),))
    found, how = detect(metadata, own.platforms)
    assert (found, how) == (own.platforms[0], "deviceProperties name 'Mine-1'")
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.py"]  # no byte code beside it


def test_the_example_of_the_documentation(written):
    text = (ROOT / "docs/extensions.md").read_text(encoding="utf-8")
    own = load_extensions([written(text.split("```python")[1].split("```")[0])])
    cost = own.registry().cost_of(args("mine::scaled_add", [[4, 8], [4, 8], []], BF16))
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (64, 192)
    assert load_platform("Mine-1", own.platforms).roof_tflops("matrix_bf16") == 700
    assert own.categories == {"mine::scaled_add": "elementwise", "mine::attention": "SDPA_fwd"}


def test_without_extensions_nothing_changes():
    own = load_extensions()
    assert own.registry() is default_registry()
    assert extension_record() == {}
    assert op_category("aten::mm") == "GEMM"
    with pytest.raises(UserError, match="is not known"):
        load_platform("mine1")


def test_the_later_one_wins(written):
    first = written(HEAD + "CATEGORIES = {'a': 'One', 'b': 'One'}", "one.py")
    second = written(HEAD + "CATEGORIES = {'b': 'Two'}", "two.py")
    own = load_extensions([first, second])
    assert own.categories == {"a": "One", "b": "Two"}
    assert op_category("b", registry=own.registry()) == "Two"


def test_an_own_gpu_replaces_one_of_the_same_name(written):
    own = load_extensions([written(GOOD.replace("Mine-1", "MI300X"))])
    assert load_platform("MI300X", own.platforms).mem_bw_gbps == 1000


def test_a_run_keeps_the_sum_of_the_source(written):
    path = written(GOOD)
    assert extension_record([path]) == {"files": [hashlib.sha256(GOOD.encode()).hexdigest()]}
    path.write_text(GOOD + "\n# changed")
    assert extension_record([path]) != {"files": [hashlib.sha256(GOOD.encode()).hexdigest()]}


def test_an_installed_extension(monkeypatch):
    point = EntryPoint("mine", "tests.perf.installed_extension", "tracelens_tui.extensions")
    monkeypatch.setattr(extensions, "entry_points", lambda group: [point] if group == extensions.GROUP else [])
    assert load_extensions().categories == {"installed::op": "MyOps"}
    assert extension_record() == {"installed": ["mine "]}


def test_an_installed_extension_that_is_gone(monkeypatch):
    point = SimpleNamespace(name="gone", value="no.such", dist=SimpleNamespace(name="pkg", version="1.2"))
    point.load = EntryPoint("gone", "no_such_module_anywhere", extensions.GROUP).load
    monkeypatch.setattr(extensions, "entry_points", lambda group: [point])
    with pytest.raises(UserError, match=r"^extension gone \(pkg 1\.2\): .*ModuleNotFoundError.*; mend the extension$"):
        load_extensions()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1 / 0", r"mine\.py: line 1: ZeroDivisionError: division by zero; mend the extension$"),
        ("\n\ndef (", r"mine\.py: line 3: SyntaxError: .*; mend the extension$"),
        ("raise RuntimeError('\\x1b[31mred')", r"line 1: RuntimeError: red; mend"),
        ("x = 1", r"mine\.py: defines none of MODELS, CATEGORIES, PLATFORMS; see docs/extensions\.md$"),
        ("MODELS = ['aten::mm']", r"MODELS\[0\] is of type str; give OpModel objects"),
        ("MODELS = 7", r"MODELS\[0\] is of type int"),
        ("PLATFORMS = [None]", r"PLATFORMS\[0\] is of type NoneType; give Platform objects"),
        ("CATEGORIES = {'a': 1}", "CATEGORIES must map op names to categories, both text"),
        ("CATEGORIES = ['a']", "CATEGORIES must map"),
        (HEAD + "MODELS = [OpModel('mine::op', 'F', 'C', print)]", "names of a model must be a tuple of texts"),
        (HEAD + "MODELS = [OpModel((), 'F', 'C', print)]", "needs at least one name or prefix"),
        (HEAD + "MODELS = [OpModel(('a',), 'F', 'C', 3)]", "and a function as its cost"),
        (GOOD.replace("1000.0", "0.0"), "Mine-1: bandwidth and peaks must be numbers above 0"),
        (GOOD.replace("achievable=10.0", "achievable=float('nan')"), "bandwidth and peaks must be numbers above 0"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(written, source, message):
    with pytest.raises(UserError, match=message):
        load_extensions([written(source)])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"gone\.py: cannot be read \(No such file or directory\); give --extension"):
        load_extensions([tmp_path / "gone.py"])
    with pytest.raises(UserError, match="cannot be read"):
        extension_record([tmp_path / "gone.py"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("args.dims[9]", r"mine\.py: the model of mine::op: line \d+: IndexError: .*; mend the extension$"),
        ("7", r"the model of mine::op: must give an OpCost with whole numbers of at least 0, or None; mend"),
        ("OpCost(1.5, 0, 0, 'vector', 'fp32')", "must give an OpCost with whole numbers"),
        ("OpCost(-1, 0, 0, 'vector', 'fp32')", "must give an OpCost with whole numbers"),
        ("OpCost(1, 0, 0, 'vector', 'fp32', bytes_range=(0, True))", "must give an OpCost with whole numbers"),
    ],
)
def test_a_model_that_goes_wrong_later(written, body, message):
    source = HEAD + f"MODELS = [OpModel(('mine::op',), 'Mine', 'MyOps', lambda args: {body})]"
    registry = load_extensions([written(source)]).registry()
    with pytest.raises(UserError, match=message):
        registry.cost_of(args("mine::op", [[8]], BF16))


def test_a_model_may_have_no_answer(written):
    source = HEAD + "MODELS = [OpModel(('mine::op',), 'Mine', 'MyOps', lambda args: None)]"
    assert load_extensions([written(source)]).registry().cost_of(args("mine::op", [[8]], BF16)) is None
