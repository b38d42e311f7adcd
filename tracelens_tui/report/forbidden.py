"""Claims that a trace cannot support, as data: how they are worded, and what may be said instead.

A sentence that says that the thing is *not* visible, or how to measure it, is allowed, and so are names in code spans.
"""

import re
from dataclasses import dataclass

from tracelens_tui.report.evidence import CODE, REFERENCE

_FLAGS = re.IGNORECASE
_DISCLAIMED = re.compile(
    r"\bnot (?:visible|recorded|shown|known|part of|in) "
    r"|\b(?:cannot|can not|can't) (?:be )?(?:seen|known|told|tell|show|infer\w*|prove\w*)"
    r"|\bno counters?\b|\bhardware counters?\b|\bdoes not (?:show|tell|record|prove)\b|\bother ranks' traces\b",
    _FLAGS,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One kind of claim: words that make it, words that excuse it, and what a trace does support."""

    code: str
    pattern: re.Pattern[str]
    instead: str
    unless: re.Pattern[str] | None = None
    strict: bool = False  # a disclaimer in the sentence does not excuse it


def _claim(code: str, pattern: str, instead: str, unless: str | None = None, *, strict: bool = False) -> Claim:
    return Claim(code, re.compile(pattern, _FLAGS), instead, re.compile(unless, _FLAGS) if unless else None, strict)


CLAIMS = (
    _claim("occupancy", r"\boccupanc(?:y|ies)\b", "the launch has this many blocks for this many SMs or CUs"),
    _claim(
        "spills",
        r"\bspill(?:s|ed|ing|age)?\b|\b(?:register|VGPR|SGPR) pressure\b",
        "the kernel allocates this many registers per thread",
    ),
    _claim(
        "cache_hits",
        r"\bcache[\s-]+(?:hit|miss)(?:es)?\b|\b(?:hit|miss)[\s-]+rates?\b|\bcache thrash\w*|\bpoor (?:L\d|cache|data) "
        r"(?:locality|reuse|use)\b|\bcache[\s-]+(?:un)?friendly\b|\bcache (?:efficiency|utili[sz]ation)\b",
        "the time is this many times the one-pass byte model; extra traffic or latency is possible but not visible",
    ),
    _claim("bank_conflicts", r"\bbank[\s-]+conflict\w*", "say nothing: no counter of it is in a trace"),
    _claim(
        "coalescing",
        r"\b(?:un|non-?\s?)coalesced\b|\bcoalescing\b|\bpoorly coalesced\b",
        "the inputs are strided; the kernel name is the strided variant",
    ),
    _claim(
        "warp_stalls",
        r"\b(?:warp|wave|wavefront)s?\b[^.;]{0,20}\bstall\w*|\bstall(?:ed|s|ing)?\b[^.;]{0,12}\b(?:warp|wave|wavefront)s?\b|"
        r"\b(?:warp|branch|wave|thread) divergence\b|\bwarp shuffle\w*|\binstruction[\s-](?:issue|cache)\b",
        "say nothing: no counter of it is in a trace",
    ),
    _claim(
        "shared_memory",
        r"\b(?:LDS|shared[\s-]memory)\b[^.;]{0,20}\b(?:usage|use|pressure|limit\w*|bound|capacity)\b",
        "say nothing: no counter of it is in a trace",
    ),
    _claim(
        "saturation",
        r"\bsaturat\w*\b[^.;]{0,30}\b(?:HBM|bandwidth|memory|DRAM|network|link)\b|"
        r"\b(?:HBM|bandwidth|memory|DRAM|network|link)\b[^.;]{0,30}\bsaturat\w*",
        "modelled traffic over time gives this rate",
    ),
    _claim(
        "idle_units",
        r"\b(?:tensor|matrix)[\s-]?(?:cores?|units?)\b[^.;]{0,20}\b(?:idle|unused|under-?utili[sz]ed|starv\w*)\b",
        "the kernel name is a variant without matrix units",
    ),
    _claim(
        "split_k",
        r"\b(?:use[sd]?|using|runs?|running|cho(?:ose|oses|se)|picks?|picked|selects?|selected)\b[^.;]{0,30}"
        r"\b(?:split|stream)-?\s?k\b",
        "the GEMM is followed by a split-K reduction, where such a kernel is there",
        unless=r"\b(?:try|followed|reduction kernel|kernel name)\b",
    ),
    _claim(
        "nccl_algorithm",
        r"\b(?:ring|tree|LL|LL128|simple|nvls)\b[^.;]{0,12}\b(?:protocol|algorithm)\b"
        r"|\b(?:protocol|algorithm) (?:is|was) (?:ring|tree|LL|LL128|simple)\b",
        "a collective of this size took this long, with this bus bandwidth",
    ),
    _claim(
        "slow_network",
        r"\b(?:network|interconnect|fabric|NVLink|xGMI|Infinity Fabric|InfiniBand|PCIe?|RDMA|RoCE|NICs?)\b[^.;]{0,30}"
        r"\b(?:slow\w*|congest\w*|bottleneck\w*|overload\w*|limit(?:s|ed|ing))\b",
        "the collective took this long on this rank; other ranks' traces are needed to split waiting from transfer",
    ),
    _claim(
        "imbalance",
        r"\b(?:im|un)balanc\w*|\bload[\s-]balanc\w*|\bstraggl\w*|\bhot experts?\b",
        "the M of the per-expert GEMMs varies from this to that",
    ),
    _claim(
        "kv_cache_hits", r"\bprefix[\s-](?:cache )?(?:reuse|hits?)\b|\bKV[\s-]cache (?:hit|reuse)\w*", "say nothing"
    ),
    _claim(
        "throttling",
        r"\bthrottl\w*|\b(?:clocks?|frequency|power)\b[^.;]{0,20}\b(?:drop\w*|limit\w*|cap|capped|capping|reduc\w*"
        r"|too low)\b",
        "the same kernel and shape is this much slower at the end than at the start",
    ),
    _claim(
        "slow_host",
        r"\bNUMA\b|\b(?:CPU|host|processor) (?:is|was) (?:too )?(?:slow|weak|overloaded|busy with other)",
        "host ops take this long between launches",
    ),
    _claim(
        "autotuner",
        r"\b(?:auto-?tun\w*|heuristics?)\b[^.;]{0,40}\b(?:bad|wrong|poor\w*|sub-?optimal|mis-?\w+|failed|chose|picked)\b",
        "a sibling shape reaches this efficiency",
    ),
    _claim(
        "shared_inputs",
        r"\bshar(?:e|es|ed|ing)\b[^.;]{0,15}\b(?:inputs?|intermediates?|operands?)\b",
        "same module, shape and dtype: likely a shared input; check the code",
        unless=r"\b(?:likely|probably|may|might|if|where|check|inferred|that|which)\b",
    ),
    _claim(
        "fusion_saves",
        r"\bfus(?:ing|ion|ed)\b[^.;]{0,30}\b(?:saves?|will save|eliminates?|halves?)\b",
        "if one kernel reads what the other writes, the intermediate need not be written and re-read",
        unless=r"\b(?:if|likely|would|could|may|might|where|inferred)\b",
    ),
    _claim(
        "memory_capacity",
        r"\bfragment(?:ed|ation)\b|\bout[\s-]of[\s-]memory\b|\bOOM\b"
        r"|\bmemory (?:is|was) (?:nearly |almost )?(?:full|exhausted)\b",
        "say nothing unless the trace has memory events",
    ),
    _claim(
        "free_overlap",
        r"\boverlap\w*\b[^.;]{0,25}\b(?:for free|is free|be free|no cost|costs? nothing|without (?:any )?cost)\b",
        "compute of this length is available to hide it; contention may lengthen both",
    ),
    _claim(
        "tautology",
        r"\b(?:mov(?:e|es|ing)|bring(?:s|ing)?|get(?:s|ting)?|push(?:es|ing)?)\b[^.;]{0,30}"
        r"\b(?:to|toward|towards) (?:its |the |their )?(?:roof(?:line)?|peak)\b"
        r"|\b(?:mak(?:e|es|ing)|speed(?:s|ing)? up)\b[^.;]{0,30}\bfaster\b[^.;]{0,20}"
        r"\b(?:reduces?|lowers?|cuts?|saves?)\b"
        r"|\b(?:improv(?:e|es|ing)|increas(?:e|es|ing)|rais(?:e|es|ing)) (?:the |its |their )?"
        r"(?:efficiency|performance|utili[sz]ation)\b[^.;]{0,20}\b(?:improves?|reduces?|makes?|lowers?|cuts?|saves?)\b",
        "name the mechanism by which the action changes the time",
        strict=True,
    ),
)


def forbidden_claims(prose: str) -> list[str]:
    """Return one line for each claim in the prose that a trace cannot support; [] where there is none."""
    text = REFERENCE.sub(" ", CODE.sub(" ", prose))
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return [
        f"{claim.code}: {found[0].strip()!r} cannot be known from a trace; instead: {claim.instead}"
        if not claim.strict
        else f"{claim.code}: {found[0].strip()!r} explains nothing; instead: {claim.instead}"
        for sentence in sentences
        for claim in CLAIMS
        if (found := claim.pattern.search(sentence)) and not _excused(claim, sentence)
    ]


def _excused(claim: Claim, sentence: str) -> bool:
    if claim.unless is not None and claim.unless.search(sentence):
        return True
    return not claim.strict and _DISCLAIMED.search(sentence) is not None
