"""Expansion of xacro files to plain XML with the optional package `xacro`.

Files are untrusted, but xacro evaluates expressions with Python's `eval` and reads any file and the environment. Instead,
this module evaluates expressions node by node: only arithmetic, comparisons, indices and calls of known functions. It
reads files only from the folder of the description, its packages and allowed folders. It does not read the environment.
"""

import ast
import math
import operator
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from hydromechs.errors import Fault, ModelError
from hydromechs.values import nearest

from ._robot_files import Missing, RobotFiles
from ._xml import read_bytes

MAX_POWER = 100.0
"""Maximum exponent; larger exponents could exhaust memory."""
MAX_LENGTH = 10_000
"""Maximum length of a text or list that results from a multiplication."""
MAX_TEXT = 1_000_000
"""Maximum length of the text of an attribute."""
MAX_BITS = 10_000
"""Maximum size of an integer [bits]."""
MAX_EXPANSION = 5_000_000
"""Maximum size of all elements, copies of macros and blocks, and evaluated texts [characters]. Without a limit, mutually
recursive macros, blocks and properties would not terminate."""
COST = 100
"""Assumed size of an element, of a copied node and of an evaluation, in addition to the text [characters]."""
MAX_WORK = 30_000_000
"""Maximum work of all expressions in one expansion [items of values read]; about 10 s."""
NODE_WORK = 10
"""Assumed work of a node of an expression [items]."""
ITEM_SIZE = 100
"""Size of a text or integer whose work equals one item [characters or bits]."""
MAX_BYTES = 8 * 2**20
"""Maximum size of all files in one expansion [bytes]; xacro documents need 60 times this memory."""
MAX_YAML = 2**20
"""Maximum size of a YAML file [bytes]; parsing takes 5 s at this size."""
TEXT_METHODS = frozenset(
    ("split", "strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith", "join", "get", "keys", "items")
)
"""Methods of texts and mappings that expressions may call."""
FUNCTIONS: tuple[Callable, ...] = (
    *(list, dict, len, str, float, int, bool, min, max, round, sorted, abs, all, any, sum, tuple, zip),
)
"""Functions that expressions may call, in addition to functions of `math`."""
LONG_RUNNING = ("factorial", "comb", "perm", "prod")
"""Functions of `math` that expressions may not call."""
ROWS: tuple[type[Any], ...] = (list, tuple, type({}.keys()), type({}.values()), type({}.items()))
"""Types of values that contain items."""
OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
"""Functions that evaluate the operators of an expression."""
_LOCK = threading.Lock()  # xacro keeps its state in its module


def is_xacro(raw: str | bytes, source: str) -> bool:
    """True for a file with the suffix .xacro or with xacro elements."""
    mark: Any = b"<xacro:" if isinstance(raw, bytes) else "<xacro:"
    return source.lower().endswith(".xacro") or mark in raw


def expanded(raw: str | bytes, source: str, files: RobotFiles, arguments: Mapping[str, str]) -> str:
    """Return a xacro file as plain XML; raise `ModelError` if expansion fails. Relative paths start at `source`."""
    try:
        import xacro
    except ModuleNotFoundError:
        text = "the file is a xacro file, but the package xacro is not installed"
        remedy = (
            f"run `pip install 'hydromechs[xacro]'`, or expand the file elsewhere: `xacro {Path(source).name} > robot.urdf`"
        )
        raise ModelError(source, [Fault((), f"{text}; {remedy}", remedy=remedy, line=1)]) from None
    from xml.parsers.expat import ExpatError

    job = _Expansion(xacro, files)
    from unittest.mock import patch  # slow to import

    with _LOCK, ExitStack() as patched:
        for name in ("parse", "safe_eval", "eval_extension", "eval_text", "eval_all"):
            patched.enter_context(patch.object(xacro, name, getattr(job, name)))
        patched.enter_context(patch.object(xacro, "_global_symbols", job.symbols()))
        try:
            xacro.init_stacks(str(files.folder / Path(source).name))
            document = job.document(raw)
            given = _Arguments(arguments)
            xacro.process_doc(document, mappings=given, verbosity=0)
            if unread := [name for name in arguments if name not in given.read]:
                raise ValueError(
                    f"the file has no argument {unread[0]!r}{nearest(unread[0], sorted(given.read))}; correct the name"
                )
            return document.toprettyxml(indent=" ")
        except (xacro.XacroException, Missing, ExpatError, OSError, ValueError, RecursionError) as error:
            text = f"xacro cannot expand the file: {str(error).strip() or type(error).__name__}"
        except Exception as error:  # third-party code on an untrusted file can raise anything
            text = f"xacro cannot expand the file: {type(error).__name__}: {error}"
        inside = Path(xacro.filestack[-1]).name if getattr(xacro, "filestack", None) else ""
    where = f" (in {inside})" if inside and inside != Path(source).name else ""
    raise ModelError(source, [Fault((), " ".join(f"{text}{where}".split()), line=1)])


class _Arguments(dict[str, str]):
    """Arguments of a xacro file, keyed by name; stores the names that the file declares or reads."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.read: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


class _Expansion:
    """Safe replacements for the parts of xacro that read files and evaluate expressions."""

    def __init__(self, xacro: Any, files: RobotFiles) -> None:
        self.xacro, self.files = xacro, files
        self.size, self.work, self.bytes, self.known = 0, 0, 0, [*FUNCTIONS]
        self._eval_text, self._eval_all = xacro.eval_text, xacro.eval_all

    def symbols(self) -> dict[str, Any]:
        """Return the names that expressions may use."""
        numbers = {name: x for name, x in vars(math).items() if not name.startswith("_") and name not in LONG_RUNNING}
        plain: dict[str, Any] = {function.__name__: function for function in FUNCTIONS}
        plain |= {"True": True, "False": False}
        own = {
            "load_yaml": self.load_yaml,
            "arg": lambda name: self.xacro.substitution_args_context["arg"][name],
            "dotify": self.xacro.YamlDictWrapper,
            "tokenize": self.xacro.tokenize,
            **dict.fromkeys(("message", "warning", "error", "print_location"), lambda *words: ""),
            "fatal": _fatal,
        }
        spaces = {"math": self._space(numbers), "python": self._space(plain), "xacro": self._space(own)}
        self.known += [x for group in (numbers, own) for x in group.values() if callable(x)]
        self.names = {**numbers, **plain, "load_yaml": own["load_yaml"], **spaces}
        return self.names

    def _space(self, values: Mapping[str, Any]) -> Any:
        out = self.xacro.NameSpace()
        dict.update(out, values)
        return out

    # -- files ----------------------------------------------------------------------------------------------------------------

    def parse(self, inp: Any, filename: str | None = None) -> Any:
        """Return the document of an included file; replaces `xacro.parse`."""
        return inp if inp is not None else self.document(self._content(str(filename)))

    def document(self, raw: str | bytes) -> Any:
        """Return the document of a text; document types and entities are rejected."""
        from xml.dom import minidom

        raw = raw.encode() if isinstance(raw, str) else raw
        self._count(raw)
        if b"\0" in raw:  # UTF-16 would hide the declarations searched for below
            raise Missing("the file is not UTF-8; save it as UTF-8")
        if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
            raise Missing("the file declares a document type or an entity, which is not supported; write the content in full")
        return minidom.parseString(raw)

    def load_yaml(self, filename: str) -> Any:
        """Return the content of a YAML file; replaces `xacro.load_yaml`."""
        path = self.xacro.abs_filename_spec(filename)
        raw = self._content(path)
        if len(raw) > MAX_YAML:
            raise Missing(f"the file {filename!r} has {len(raw)} bytes, more than {MAX_YAML}; split it")
        self._count(raw)
        return self.xacro.YamlListWrapper.wrap(yaml.load(raw, Loader=_Units))

    def _count(self, raw: bytes) -> None:
        self.bytes += len(raw)
        if self.bytes > MAX_BYTES:
            raise Missing(f"the included files have more than {MAX_BYTES // 2**20} MiB in all; expand the file with xacro")

    def _content(self, path: str) -> bytes:
        found = self.files.allowed_file(path)
        self.xacro.all_includes.append(str(found))
        return read_bytes(found)

    # -- limits ---------------------------------------------------------------------------------------------------------------

    def eval_text(self, text: str, symbols: Any) -> Any:
        """Return the value of a text with expressions, of limited length; replaces `xacro.eval_text`."""
        out = self._eval_text(text, symbols)
        self._expand(len(out) if isinstance(out, str) else 0)
        return out

    def eval_all(self, node: Any, macros: Any, symbols: Any) -> None:
        """Expand an element; replaces `xacro.eval_all`."""
        self._expand(0)
        copied = [node] if node.parentNode is None else []  # xacro has just copied a macro or a block
        while copied:
            part = copied.pop()
            self._expand(len(getattr(part, "data", "")))
            copied += part.childNodes
        self._eval_all(node, macros, symbols)

    def _expand(self, characters: int) -> None:
        self.size += COST + characters
        if self.size > MAX_EXPANSION:
            raise Missing(f"the elements, macros, blocks and texts of the file expand to more than {MAX_EXPANSION} characters")

    # -- expressions ----------------------------------------------------------------------------------------------------------

    def eval_extension(self, text: str) -> Any:
        """Return the value of $(find NAME), $(arg NAME), $(dirname), $(cwd), $(optenv NAME DEFAULT) or $(eval ...)."""
        word, _, rest = text[2:-1].strip().partition(" ")
        rest = rest.strip()
        arguments = self.xacro.substitution_args_context["arg"]
        if word == "find":
            return str(self.files.package(rest))
        if word == "arg":
            if rest not in arguments:
                raise Missing(f"the argument {rest!r} has no value; set arguments={{{rest!r}: ...}} (--arg {rest}=VALUE)")
            return arguments[rest]
        if word == "dirname":
            return str(Path(self.xacro.filestack[-1]).parent)
        if word == "cwd":
            return str(self.files.folder)
        if word == "optenv":
            return rest.partition(" ")[2]
        if word == "eval":
            own = {**arguments, **self.names, "arg": lambda name: _literal(arguments[name])}
            self.known.append(own["arg"])
            return str(self.safe_eval(rest, own))
        raise Missing(f"{text} is not supported; expand the file with xacro and load the result")

    def safe_eval(self, text: str, symbols: Mapping[str, Any], local: object = None) -> Any:
        """Return the value of an expression, evaluated node by node; replaces `xacro.safe_eval`."""
        self._spend(len(text))
        return self._value(ast.parse(text.strip(), mode="eval").body, symbols)

    def _spend(self, items: int) -> None:
        self.work += items
        if self.work > MAX_WORK:
            words = f"the expressions of the file read more than {MAX_WORK} items of lists and texts"
            raise Missing(f"{words}; evaluate fewer or shorter expressions, or expand the file with xacro")

    def _value(self, node: ast.expr, symbols: Mapping[str, Any]) -> Any:
        self._spend(NODE_WORK)

        def of(inner: ast.expr) -> Any:
            return self._value(inner, symbols)

        match node:
            case ast.Constant(value=str() | int() | float() | bool() | None as value):
                return value
            case ast.Name(id=name):
                return self._named(name, symbols)
            case ast.UnaryOp(op=op, operand=inner) if type(op) in OPERATORS:
                return OPERATORS[type(op)](of(inner))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._bounded(op, of(left), of(right))
            case ast.BoolOp(op=op, values=values):
                out: Any = None
                for inner in values:
                    out = of(inner)
                    if bool(out) is isinstance(op, ast.Or):
                        break
                return out
            case ast.Compare(left=left, ops=ops, comparators=others):
                a = self._size_checked(of(left))
                for comparison, other in zip(ops, others, strict=True):
                    b = self._size_checked(of(other))
                    if not OPERATORS[type(comparison)](a, b):
                        return False
                    a = b
                return True
            case ast.IfExp(test=test, body=body, orelse=other):
                return of(body) if of(test) else of(other)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return self._size_checked([of(item) for item in items])
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return self._size_checked({of(k): of(v) for k, v in zip(keys, values, strict=True) if k is not None})
            case ast.Subscript(value=inner, slice=ast.Slice(lower=low, upper=high, step=None)):
                part = of(inner)[None if low is None else of(low) : None if high is None else of(high)]
                return self._size_checked(part)
            case ast.Subscript(value=inner, slice=index):
                return self._item(of(inner), of(index))
            case ast.Attribute(value=inner, attr=name) if not name.startswith("_"):
                owner = of(inner)
                if isinstance(owner, self.xacro.NameSpace | self.xacro.YamlDictWrapper):
                    return self._item(owner, name)
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=given, keywords=[]) if name in TEXT_METHODS:
                owner = of(inner)
                if type(owner) in (str, dict, self.xacro.YamlDictWrapper):
                    passed = [self._size_checked(of(x)) for x in given]
                    if name == "join" and passed and len(owner) * len(passed[0]) > MAX_TEXT:
                        raise Missing(f"a text of {len(owner) * len(passed[0])} characters exceeds the limit of {MAX_TEXT}")
                    return self._size_checked(getattr(owner, name)(*passed))
            case ast.Call(func=inner, args=given, keywords=[]):
                function = of(inner)
                if any(function is known for known in self.known):
                    passed = [self._size_checked(of(x)) for x in given]
                    if function is round and any(abs(digits) > MAX_POWER for digits in passed[1:] if digits is not None):
                        raise Missing(f"round to {passed[1]} digits exceeds the limit of {MAX_POWER:g}")
                    return self._size_checked(function(*passed))
        raise Missing(f"the expression {ast.unparse(node)!r} is not supported; expand the file with xacro and load the result")

    def _named(self, name: str, symbols: Mapping[str, Any]) -> Any:
        try:
            return symbols[name]
        except KeyError:
            raise Missing(f"the name {name!r} is not defined; define it with <xacro:property>") from None

    def _item(self, owner: Any, key: Any) -> Any:
        out = owner[key]
        self._spend(len(out) if isinstance(out, dict | list) else 0)  # mappings and lists of YAML files are copied
        return out

    def _size_checked(self, value: Any) -> Any:
        """Return a value after checks of items, text lengths and integers, also nested; raise `Missing` above a limit."""
        open_items, count, length = [value], 0, 0
        while open_items:
            item = open_items.pop()
            size = len(item) if isinstance(item, str) else item.bit_length() if isinstance(item, int) else 0
            self._spend(1 + size // ITEM_SIZE)
            count += 1
            length += len(item) if isinstance(item, str) else 0
            if count > MAX_LENGTH or length > MAX_TEXT:
                raise Missing(f"a value of an expression has more than {MAX_LENGTH} items or {MAX_TEXT} characters")
            if isinstance(item, int) and item.bit_length() > MAX_BITS:
                raise Missing(f"an integer of {item.bit_length()} bits exceeds the limit of {MAX_BITS}")
            if isinstance(item, dict):
                open_items += [*item, *item.values()]
            elif isinstance(item, ROWS):
                if len(item) > MAX_LENGTH:
                    raise Missing(f"a list has {len(item)} items, more than {MAX_LENGTH}")
                open_items += item
        return value

    def _bounded(self, op: ast.operator, a: Any, b: Any) -> Any:
        """Return the value of a binary operation, after checks of the size of the result."""
        if isinstance(a, int) and isinstance(b, int) and isinstance(op, ast.Pow | ast.Mult):
            bits = a.bit_length() * abs(b) if isinstance(op, ast.Pow) else a.bit_length() + b.bit_length()
            if bits > MAX_BITS:
                raise Missing(f"an integer of {bits} bits exceeds the limit of {MAX_BITS}")
        if isinstance(op, ast.Pow) and not (isinstance(a, int | float) and isinstance(b, int | float) and abs(b) <= MAX_POWER):
            raise Missing(f"the exponent in {a} ** {b} exceeds the limit of {MAX_POWER:g}")
        if isinstance(op, ast.Mult):
            for rows, times in ((a, b), (b, a)):
                if isinstance(rows, str | list | tuple) and isinstance(times, int) and len(rows) * times > MAX_LENGTH:
                    raise Missing(f"{times} times a text or list of {len(rows)} exceeds the limit of {MAX_LENGTH}")
        if isinstance(op, ast.Mod) and isinstance(a, str):
            raise Missing("text formatting with % is not supported; join texts with +")
        # a sum or multiple of lists only refers to their items; written as text it would copy them
        return self._size_checked(OPERATORS[type(op)](a, b))


class _Units(yaml.SafeLoader):
    """YAML loader with the units of xacro, !degrees and !radians."""

    merged = 0
    """Number of keys merged so far in all mappings of the file."""

    def flatten_mapping(self, node: Any) -> None:
        """Merge the keys of `<<` into a mapping, up to a limit."""
        for key, value in node.value:  # count before merging: a short list of aliases can merge millions of keys
            if key.tag == "tag:yaml.org,2002:merge":
                for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(part, yaml.MappingNode):
                        self.flatten_mapping(part)
                        self.merged += len(part.value)
                    if self.merged > MAX_LENGTH:
                        words = "keys are merged by << in a YAML file; write fewer mappings with <<"
                        raise Missing(f"more than {MAX_LENGTH} {words}")
        super().flatten_mapping(node)


def _number(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


_Units.add_constructor("!degrees", lambda loader, node: math.radians(_number(loader, node)))
_Units.add_constructor("!radians", _number)


def _literal(text: Any) -> Any:
    """Return the number or boolean that a text represents, or the text itself."""
    if not isinstance(text, str):
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return float(text) if re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", text, re.IGNORECASE) else text


def _fatal(*words: object) -> None:
    raise Missing(" ".join(map(str, words)))
