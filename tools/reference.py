#!/usr/bin/python3
"""Writes tests/reference: what PyTorch computes in float64, and the programs that compare.

    tools/reference.py [FAMILY …]

Needs Debian's python3-torch. A family is NAME.nn with NAME.safetensors; each case in it is a layer
whose parameters are the inputs and whose states are PyTorch's results: the value y, the gradient of
sum(y * r) in every input and, where asked for, the gradient in the first input of the sum of the
squares of those. tests/scripts/reference.sh runs the programs.
"""
import json
import os
import struct
import sys

import torch
import torch.nn.functional as F

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "reference")
BAR = "1e-9"


class Case:
    """One comparison.

    inputs   shapes by name; those of a layer's own parameters are named f.NAME
    value    the expression in .nn, of the names of the inputs and of f
    torch    the same of tensors, which come as keyword arguments (f.w as f_w)
    layer    what `sub f` is made by, None for none
    states   shapes and first values of the layer's states (f.NAME: a function of its shape)
    after    the states after the call, by name: a function of the inputs
    twice    second derivatives are compared too
    training  the layer is called with training true
    """

    def __init__(self, name, inputs, value, torch, layer=None, states=None, after=None,
                 twice=False, training=False):
        self.name, self.inputs, self.value, self.torch = name, inputs, value, torch
        self.layer, self.states, self.after = layer, states or {}, after or {}
        self.twice, self.training = twice, training


def identifier(name):
    return name.replace(".", "_")


def compute(case, generator):
    """The tensors of a case by their key in the file, and its inputs."""
    real = {"dtype": torch.float64, "generator": generator}
    x = {k: torch.randn(s, **real).requires_grad_() for k, s in case.inputs.items()}
    states = {k: make(torch.rand(s, **real)) for k, (s, make) in case.states.items()}
    arguments = {identifier(k): v for k, v in {**x, **states}.items()}
    y = case.torch(**arguments)
    r = torch.randn(y.shape, **real)
    g = torch.autograd.grad((y * r).sum(), list(x.values()), create_graph=case.twice)
    found = {**x, **states, "y": y, "r": r}
    found.update({"d_" + identifier(k): v for k, v in zip(x, g)})
    if case.twice:
        found["dd"], = torch.autograd.grad(sum((v * v).sum() for v in g), next(iter(x.values())))
    found.update({"new_" + identifier(k): f(**arguments) for k, f in case.after.items()})
    return found


def write_safetensors(path, tensors):
    head, at, data = {}, 0, []
    for key, t in tensors.items():
        b = t.detach().contiguous().numpy().astype("<f8").tobytes()
        head[key] = {"dtype": "F64", "shape": list(t.shape), "data_offsets": [at, at + len(b)]}
        at += len(b)
        data.append(b)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def layer_text(case, index, tensors):
    own = [k for k in case.inputs if not k.startswith("f.")]
    names = ", ".join(case.inputs)
    lines = [f"# {case.name}", f"layer case_{index}(k: real) -> real {{"]
    lines += [f"    param {k}: {list(case.inputs[k])} = zeros" for k in own]
    lines += [f"    state {k}: {list(t.shape)} = zeros" for k, t in tensors.items()
              if k not in case.inputs and not k.startswith("f.")]
    if case.layer:
        lines += [f"    sub f = {case.layer}"]
    lines += [f"    let found = {case.value}", "    var worst = k * gap(found, y)"]
    one = len(case.inputs) == 1
    g = [f"g_{identifier(k)}" for k in case.inputs]
    lines += [f"    let {g[0] if one else '(' + ', '.join(g) + ')'} = "
              f"grad(sum(found * r), {names if one else '(' + names + ')'})"]
    lines += [f"    worst = maximum(worst, gap(g_{identifier(k)}, d_{identifier(k)}))"
              for k in case.inputs]
    if case.twice:
        squares = " + ".join(f"sum({v}^2)" for v in g)
        lines += [f"    let h = grad({squares}, {next(iter(case.inputs))})",
                  "    worst = maximum(worst, gap(h, dd))"]
    lines += [f"    worst = maximum(worst, gap({k}, new_{identifier(k)}))" for k in case.after]
    return lines + ["    worst", "}", f"model m{index} = case_{index}", ""]


def write_family(name, cases):
    generator = torch.Generator().manual_seed(1)
    text = [f"# Written by tools/reference.py: compares with {name}.safetensors, PyTorch's results.",
            "fn gap(found, wanted) = max(abs(found - wanted) / (1 + abs(wanted)))", ""]
    data = {}
    for i, case in enumerate(cases):
        tensors = compute(case, generator)
        data.update({f"m{i}.{k}": v for k, v in tensors.items()})
        text += layer_text(case, i, tensors)
    models = [f"m{i}" for i in range(len(cases))]
    text += ["task train {"]
    text += [f"    load {', '.join(models)} from \"{name}.safetensors\""]
    for training in (True, False):
        lines = [f"expect m{i}(1) < {BAR}, \"{c.name}\"" for i, c in enumerate(cases)
                 if c.training == training]
        if training:
            text += ["    " + line for line in lines]
            text += [f"    each p in m{i} {{ p -= 0 * p }}" for i, c in enumerate(cases)
                     if c.training][:1]
        elif lines:
            text += ["    eval {"] + ["        " + line for line in lines] + ["    }"]
    text += ["}", ""]
    write_safetensors(os.path.join(FOLDER, name + ".safetensors"), data)
    with open(os.path.join(FOLDER, name + ".nn"), "w") as f:
        f.write("\n".join(text))


# ---- layouts: ours has channels last ----

def first(x):
    """Channels before the axes of space: [N, …, C] to [N, C, …]."""
    return x.movedim(-1, 1)


def last(y):
    return y.movedim(1, -1)


def kernel(w):
    """[K…, C, F] to [F, C, K…]."""
    return w.movedim((-1, -2), (0, 1))


# ---- families ----

def convolution(x, w, axes, **options):
    f = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]
    return last(f(first(x), kernel(w), **options))


def conv_case(name, x, w, twice=False, **options):
    axes = len(x) - 2
    words = "".join(f", {k}={v}" for k, v in options.items())
    return Case(name, {"x": x, "w": w}, f"convolve(x, w{words})",
                lambda x, w: convolution(x, w, axes, **options), twice=twice)


def transposed(x, w, stride, padding, output_padding, dilation):
    # PyTorch has [C, F, K…] here
    y = F.conv_transpose2d(first(x), w.movedim((-2, -1), (0, 1)), stride=stride, padding=padding,
                           output_padding=output_padding, dilation=dilation)
    return last(y)


def transposed_case(name, x, w, stride, padding, output_padding, dilation):
    k, out = w[0], w[3]
    layer = (f"conv_transpose2d(out={out}, kernel={k}, stride={stride}, padding={padding}, "
             f"output_padding={output_padding}, dilation={dilation})")
    return Case(name, {"x": x, "f.w": w, "f.b": (out,)}, "f(x)",
                lambda x, f_w, f_b: transposed(x, f_w, stride, padding, output_padding, dilation)
                + f_b, layer=layer)


def layer_case(name, x, w, layer, axes, **options):
    return Case(name, {"x": x, "f.w": w, "f.b": w[-1:]}, "f(x)",
                lambda x, f_w, f_b: convolution(x, f_w, axes, **options) + f_b, layer=layer)


CONV = [
    conv_case("conv1d", (2, 9, 3), (3, 3, 4)),
    conv_case("conv1d, stride 2, padding 2, dilation 2", (2, 11, 3), (3, 3, 4),
              stride=2, padding=2, dilation=2),
    conv_case("conv2d", (2, 6, 5, 3), (3, 3, 3, 4), twice=True),
    conv_case("conv2d, stride 2, padding 1", (2, 7, 6, 3), (3, 3, 3, 4), twice=True,
              stride=2, padding=1),
    conv_case("conv2d, stride [2, 1], padding [0, 1], dilation [1, 2]", (2, 7, 6, 3), (3, 3, 3, 4),
              stride=[2, 1], padding=[0, 1], dilation=[1, 2]),
    conv_case("conv2d, two groups", (2, 5, 5, 4), (3, 3, 2, 6), padding=1, groups=2),
    conv_case("conv2d, each channel alone", (2, 5, 5, 3), (3, 3, 1, 6), padding=1, groups=3),
    conv_case("conv2d, 1 x 1", (2, 4, 4, 5), (1, 1, 5, 7)),
    conv_case("conv3d", (2, 4, 4, 4, 2), (2, 2, 2, 2, 3)),
    conv_case("conv3d, stride 2, padding 1", (2, 4, 5, 4, 2), (3, 3, 3, 2, 3), stride=2, padding=1),
    conv_case("conv3d, two groups", (1, 3, 4, 4, 4), (2, 2, 2, 2, 4), groups=2),
    layer_case("the layer conv2d", (2, 6, 5, 3), (3, 3, 3, 4),
               "conv2d(4, kernel=3, stride=2, padding=1)", 2, stride=2, padding=1),
    layer_case("the layer depthwise_conv2d", (2, 6, 5, 3), (3, 3, 1, 6),
               "depthwise_conv2d(3, padding=1, multiplier=2)", 2, padding=1, groups=3),
    transposed_case("conv_transpose2d", (2, 4, 3, 3), (3, 3, 3, 2), 1, 0, 0, 1),
    transposed_case("conv_transpose2d, stride 2, padding 1, output padding 1", (2, 4, 3, 3),
                    (3, 3, 3, 2), 2, 1, 1, 1),
    transposed_case("conv_transpose2d, dilation 2", (2, 4, 3, 3), (3, 3, 3, 2), 2, 1, 0, 2),
]


def pool(f, **options):
    return lambda x: last(f(first(x), **options))


IMAGES = (2, 7, 6, 3)
POOL = [
    Case("maxpool", {"x": IMAGES}, "maxpool(x, 2)", pool(F.max_pool2d, kernel_size=2)),
    Case("maxpool, stride 2, padding 1", {"x": IMAGES}, "maxpool(x, 3, 2, 1)",
         pool(F.max_pool2d, kernel_size=3, stride=2, padding=1)),
    Case("avgpool", {"x": IMAGES}, "avgpool(x, 2)", pool(F.avg_pool2d, kernel_size=2)),
    Case("avgpool, stride 2, padding 1", {"x": IMAGES}, "avgpool(x, 3, 2, 1)",
         pool(F.avg_pool2d, kernel_size=3, stride=2, padding=1, count_include_pad=False)),
    Case("global_avgpool", {"x": IMAGES}, "global_avgpool(x)", lambda x: x.mean((1, 2))),
    Case("upsample", {"x": (2, 3, 2, 3)}, "upsample(x, 2)",
         pool(F.interpolate, scale_factor=2, mode="nearest")),
]


def normed(function):
    """A norm of PyTorch, with channels last."""
    return lambda x, f_w=None, f_b=None, **more: last(function(first(x), f_w, f_b, **more))


def running(x, momentum):
    axes = tuple(range(x.dim() - 1))
    return (lambda old, new: (1 - momentum) * old + momentum * new,
            x.mean(axes), x.var(axes, unbiased=True))


def batch_case(name, x, momentum=0.1, training=True, twice=False):
    c = x[-1:]
    layer = "batchnorm()" if momentum == 0.1 else f"batchnorm(momentum={momentum})"

    def value(x, f_w, f_b, f_running_mean, f_running_var):
        return last(F.batch_norm(first(x), f_running_mean.clone(), f_running_var.clone(), f_w, f_b,
                                 training=training))

    def new_mean(x, f_running_mean, **_):
        mix, m, _ = running(x, momentum)
        return mix(f_running_mean, m)

    def new_var(x, f_running_var, **_):
        mix, _, v = running(x, momentum)
        return mix(f_running_var, v)

    states = {"f.running_mean": (c, lambda u: u - 0.5), "f.running_var": (c, lambda u: u + 0.5)}
    after = {"f.running_mean": new_mean, "f.running_var": new_var} if training else {}
    return Case(name, {"x": x, "f.w": c, "f.b": c}, "f(x)", value, layer, states, after, twice,
                training)


def norm_case(name, x, layer, function, affine=True, bias=True, twice=False):
    inputs = {"x": x}
    if affine:
        inputs["f.w"] = x[-1:]
        if bias:
            inputs["f.b"] = x[-1:]
    return Case(name, inputs, "f(x)", function, layer=layer, twice=twice)


def rms_norm(x, f_w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * f_w


NORMS = [
    batch_case("batchnorm of rows", (6, 3), twice=True),
    batch_case("batchnorm of images", IMAGES, twice=True),
    batch_case("batchnorm, momentum 0.3", (4, 5, 3), momentum=0.3),
    batch_case("batchnorm by the running values", IMAGES, training=False),
    norm_case("layernorm", (4, 5, 6), "layernorm()",
              lambda x, f_w, f_b: F.layer_norm(x, (6,), f_w, f_b), twice=True),
    norm_case("rmsnorm", (4, 5, 6), "rmsnorm()", rms_norm, bias=False, twice=True),
    norm_case("groupnorm", (2, 5, 4, 6), "groupnorm(3)",
              normed(lambda x, w, b: F.group_norm(x, 3, w, b)), twice=True),
    norm_case("groupnorm of rows", (4, 6), "groupnorm(2)",
              normed(lambda x, w, b: F.group_norm(x, 2, w, b))),
    norm_case("groupnorm, not affine", (2, 5, 6), "groupnorm(2, affine=false)",
              normed(lambda x, w, b: F.group_norm(x, 2, w, b)), affine=False),
    norm_case("instancenorm", (2, 5, 4, 3), "instancenorm()",
              normed(lambda x, w, b: F.instance_norm(x, weight=w, bias=b)), affine=False),
    norm_case("instancenorm, affine", (2, 5, 4, 3), "instancenorm(affine=true)",
              normed(lambda x, w, b: F.instance_norm(x, weight=w, bias=b)), twice=True),
]

FAMILIES = {"conv": CONV, "norms": NORMS, "pool": POOL}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(FAMILIES)
    for name in wanted:
        if name not in FAMILIES:
            sys.exit(f"reference.py: no family is called '{name}'; there is {', '.join(FAMILIES)}")
    os.makedirs(FOLDER, exist_ok=True)
    for name in wanted:
        write_family(name, FAMILIES[name])
