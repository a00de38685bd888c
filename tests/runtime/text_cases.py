#!/usr/bin/python3
"""Writes text_cases.h: what Python's format and NumPy's str give for many values, for test_text.c.
Run by hand when cases are added; needs NumPy. The printed text is theirs, so the tests compare with
the real thing and not with our idea of it."""
import numpy as np

def c_string(s):
    return '"' + s.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n') + '"'

def real(x):
    x = float(x)
    if x != x:
        return 'NAN'
    if x in (float('inf'), float('-inf')):
        return '-INFINITY' if x < 0 else 'INFINITY'
    return x.hex()

print('/* text_cases.h: written by text_cases.py. */')
formats = ['', '.3f', '8.2f', '+.1f', '<9.3e', '^11.2f', '*>10.1f', '010.2f', ',.2f', '014,.1f', '.4g',
           'g', '.2%', '%', '.3', '12', ' .2f', 'e', '=+9.1f', '.0f', 'é^9.1f', '_<12', '.1']
reals = [0.0, -0.0, 1.0, -1.5, 3.14159265, 1234567.891, 1e-5, -2.5e-7, 1e16, 1e22, 123456789012345.0,
         0.1, 0.0001, 99999.5, float('inf'), float('-inf'), float('nan'), 0.99999, 5e-324, 1e100]
print('static const struct { double x; const char *format, *want; } real_cases[] = {')
for x in reals:
    for f in formats:
        if x in (5e-324, 1e100) and f not in ('', '.3f', 'e', '.4g'):
            continue
        want = format(x, f) if f else str(np.float64(x))
        print('    {%s, %s, %s},' % (real(x), c_string(f), c_string(want)))
print('};')
print('static const struct { float x; const char *want; } float_cases[] = {')
for x in [0.1, 1/3, 1e-4, 9.9e-5, 123456789, 16777216, 1e16, 3.4e38, 1.5, -2, 7e-10, 1e15, 0.3, 2/3, 1e-45]:
    print('    {%sf, %s},' % (real(np.float32(x)), c_string(str(np.float32(x)))))
print('};')
print('static const struct { long long x; const char *format, *want; } int_cases[] = {')
for x in [0, 7, -42, 1234567, -1234567890123, 9223372036854775807, -9223372036854775808]:
    for f in ['', 'd', '6d', '+d', '012d', ',', '020,d', '^9', '.2f', '<8d', 'e', '%', '08,d', '-<6']:
        print('    {%s, %s, %s},' % ('LLONG_MIN' if x < -2**62 else '%dLL' % x, c_string(f),
                                     c_string(format(x, f))))
print('};')

rng = np.random.default_rng(1)
f32 = np.float32
arrays = [
    f32([1, 2.5, -3]), f32([0.1, 0.25, 1/3]), f32([1e-5, 1, 100]), f32([1, 2, 3]), f32([1e8, 1]),
    f32([[1, 2], [3, 4.125]]), f32([float('nan'), 1, float('-inf')]), f32([float('inf'), 2.5]),
    f32([float('nan')]), f32([0, 0]), f32([-0.0, 0.5]), f32([1e-10, 2e-10]), f32([123456.7, 1000]),
    f32(rng.normal(size=30)), f32(rng.normal(size=(2, 3, 4))), f32(rng.normal(size=(3, 20))),
    f32(np.arange(1001)), f32(rng.normal(size=(8, 7, 18))),
    f32([16777216, 3]), f32([99999999, 100000]), f32([1e38, 1e-38]), f32(rng.normal(size=(1, 1))),
    np.float64([0.1, 1/3, 2]), np.float64([1e100, 1]), np.float64(rng.normal(size=7)),
    np.float64([1e-7, float('nan')]), np.float64([1/3, 1e3/3]),
    np.int32([1, 22, -333]), np.int32([[1, -2], [300, 4]]), np.int32(np.arange(40)),
    np.int32(np.arange(1200).reshape(3, 400)), np.int64([2**40, -1]), np.uint8([0, 255]),
    np.array([True, False]), np.array([[True, True]]), f32(np.zeros((0, 3))), f32(rng.normal(size=(2, 2, 2, 2))),
]
types = {'float32': ('RT_F32', 'float'), 'float64': ('RT_F64', 'double'), 'int32': ('RT_I32', 'int32_t'),
         'int64': ('RT_I64', 'int64_t'), 'uint8': ('RT_U8', 'uint8_t'), 'bool': ('RT_BOOL', 'uint8_t')}
for i, a in enumerate(arrays):
    values = [real(v) if a.dtype.kind == 'f' else str(int(v)) for v in a.ravel()] or ['0.0']
    if a.dtype == np.float32:
        values = [v + 'f' if v[-1] not in 'YN' else v for v in values]
    print('static const %s array_%d[] = {' % (types[str(a.dtype)][1], i))
    for k in range(0, len(values), 6):
        print('    ' + ', '.join(values[k:k + 6]) + ',')
    print('};')
print('static const struct { const void *data; enum rt_type type; int rank; int64_t dims[4];'
      ' const char *want; } array_cases[] = {')
for i, a in enumerate(arrays):
    want = str(a).replace('True', 'true').replace('False', 'false')
    print('    {array_%d, %s, %d, {%s}, %s},' % (i, types[str(a.dtype)][0], a.ndim,
          ', '.join(map(str, a.shape)), c_string(want)))
print('};')
