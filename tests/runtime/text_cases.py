#!/usr/bin/python3
"""Writes text_cases.h: what Python's format and NumPy's str give for many values, for test_text.c.
Run by hand when cases are added; needs NumPy. The printed text is theirs, so the tests compare with
the real thing and not with our idea of it."""
import numpy as np


def c_string(s):
    """A C literal, one line of text a line of C."""
    parts = s.replace('\\', '\\\\').replace('"', '\\"').split('\n')
    return '"' + '\\n"\n     "'.join(parts) + '"'


def real(x):
    x = float(x)
    if x != x:
        return 'NAN'
    if x in (float('inf'), float('-inf')):
        return '-INFINITY' if x < 0 else 'INFINITY'
    return repr(x)


def single(x):
    x = np.float32(x)
    if not np.isfinite(x):
        return real(x)
    s = str(x)
    return (s if '.' in s or 'e' in s else s + '.0') + 'f'


FORMATS = ['', '.3f', '8.2f', '+.1f', '<9.3e', '^11.2f', '*>10.1f', '010.2f', ',.2f', '014,.1f',
           '.4g', 'g', '.2%', '%', '.3', '12', ' .2f', 'e', '=+9.1f', '.0f', 'é^9.1f', '_<12', '.1']
REALS = [0.0, -0.0, 1.0, -1.5, 3.14159265, 1234567.891, 1e-5, -2.5e-7, 1e16, 1e22,
         0.1, 0.0001, float('inf'), float('-inf'), float('nan'),
         0.99999, 5e-324, 1e100]
FLOATS = [0.1, 1 / 3, 1e-4, 9.9e-5, 123456789, 16777216, 1e16, 3.4e38, 1.5, -2, 7e-10, 1e15, 0.3,
          2 / 3, 1e-45]
INTS = [0, 7, -42, -1234567890123, 2**63 - 1, -2**63]
INT_FORMATS = ['', 'd', '6d', '+d', '012d', ',', '020,d', '^9', '.2f', '<8d', 'e', '%', '08,d',
               '-<6']


def scalars():
    print('static const struct {\n    double x;\n    const char *format, *want;\n'
          '} real_cases[] = {')
    for x in REALS:
        for f in FORMATS:
            if x in (5e-324, 1e100) and f not in ('', 'e', '.4g'):
                continue
            want = format(x, f) if f else str(np.float64(x))
            print('    {%s, %s, %s},' % (real(x), c_string(f), c_string(want)))
    print('};\n\nstatic const struct {\n    float x;\n    const char *want;\n} float_cases[] = {')
    for x in FLOATS:
        print('    {%s, %s},' % (single(x), c_string(str(np.float32(x)))))
    print('};\n\nstatic const struct {\n    long long x;\n    const char *format, *want;\n'
          '} int_cases[] = {')
    for x in INTS:
        for f in INT_FORMATS:
            print('    {%s, %s, %s},' % ('LLONG_MIN' if x < -2**62 else '%dLL' % x, c_string(f),
                                         c_string(format(x, f))))
    print('};\n')


f32, f64, rng, inf, nan = np.float32, np.float64, np.random.default_rng(1), np.inf, np.nan
index = np.arange(1200)
# test_text.c makes these itself.
made = {'counted_f32': f32(index[:1001]), 'counted_i32': np.int32(index.reshape(3, 400)),
        'eighths_f32': f32((index[:1008] * 7919 % 2003 - 1000) / 8).reshape(8, 7, 18)}
arrays = [
    f32([1, 2.5, -3]), f32([0.1, 0.25, 1 / 3]), f32([1e-5, 1, 100]), f32([1, 2, 3]),
    f32([1e8, 1]), f32([[1, 2], [3, 4.125]]), f32([nan, 1, -inf]), f32([inf, 2.5]), f32([nan]),
    f32([0, 0]), f32([-0.0, 0.5]), f32([1e-10, 2e-10]), f32([123456.7, 1000]),
    f32(rng.normal(size=30)), f32(rng.normal(size=(2, 3, 4))), f32(rng.normal(size=(3, 20))),
    f32([16777216, 3]), f32([99999999, 100000]), f32([1e38, 1e-38]), f32(rng.normal(size=(1, 1))),
    f64([0.1, 1 / 3, 2]), f64([1e100, 1]), f64(rng.normal(size=7)), f64([1e-7, nan]),
    f64([1 / 3, 1e3 / 3]), np.int32([1, 22, -333]), np.int32([[1, -2], [300, 4]]),
    np.int32(np.arange(40)), np.int64([2**40, -1]), np.uint8([0, 255]), np.array([True, False]),
    np.array([[True, True]]), f32(np.zeros((0, 3))), f32(rng.normal(size=(2, 2, 2, 2)))]
TYPES = {'float32': ('RT_F32', 'float'), 'float64': ('RT_F64', 'double'),
         'int32': ('RT_I32', 'int32_t'), 'int64': ('RT_I64', 'int64_t'),
         'uint8': ('RT_U8', 'uint8_t'), 'bool': ('RT_BOOL', 'uint8_t')}


def tensors():
    cases = list(made.items())
    for i, a in enumerate(arrays):
        kind = {'float32': single, 'float64': real}.get(str(a.dtype), lambda v: str(int(v)))
        values = [kind(v) for v in a.ravel()] or ['0']
        per = 4 if a.dtype == np.float64 else 6
        print('static const %s array_%d[] = {' % (TYPES[str(a.dtype)][1], i))
        for k in range(0, len(values), per):
            print('    ' + ', '.join(values[k:k + per]) + ',')
        print('};')
        cases.append(('array_%d' % i, a))
    print('\nstatic const struct {\n    const void *data;\n    enum rt_type type;\n    int rank;\n'
          '    int64_t dims[4];\n    const char *want;\n} array_cases[] = {')
    for name, a in cases:
        want = str(a).replace('True', 'true').replace('False', 'false')
        print('    {%s, %s, %d, {%s},\n     %s},' % (name, TYPES[str(a.dtype)][0], a.ndim,
                                                  ', '.join(map(str, a.shape)), c_string(want)))
    print('};')


print('/* text_cases.h: written by text_cases.py. */')
scalars()
tensors()
