"""Coefficients of sine and cosine in double precision, for back ends with a custom implementation."""

TWO_OVER_PI = 0.6366197723675814
"""Constant 2/π."""
# kernels of fdlibm for |r| ≤ π/4; π/2 as the sum of three doubles, for a reduction with fused multiply-add
SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
# π/2 for a reduction without fused multiply-add: the first two parts have 33 bits, with exact multiples up to 2²⁰
HALF_PI_SHORT = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
