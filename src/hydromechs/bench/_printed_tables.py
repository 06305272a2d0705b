"""Tables of operation counts as the papers print them: multiplications and additions of each pair of columns.

Each line is a quantity by its name in the paper, in the paper's order; cells are polynomials of m chains of N joints. The last
line is the printed total.
"""

import re
from fractions import Fraction

MISPRINTS = {
    "1995, sec. V": "Brandl, Johanni and Otter's additions are printed as 220N - 248; 220N - 198 gives the 1122 of the thesis",
    "thesis, sec. 2.5": "Lilly and Orin's formula gives 12373 additions for m = 4, N = 6; 12589 is printed",
    "thesis, sec. 5.4": "the articulated-body star is quoted with 205mN + 66m + 65 additions; Table 16 and ch. 7 have 63m + 68",
    "thesis, Table 16": "m = 1, N = 6 on land is printed with 1359 additions; the formula gives 1361",
    "thesis, Table 24": "additions of K^x are printed as 14; 15 give the total, and agree with the text",
    "thesis, App. B.4": "205N - 247 additions are quoted; Table 30 has 205N - 241, which gives its 989",
}
"""Numbers of the papers that contradict other numbers in them."""


def polynomial(text: str, m: int = 1, N: int = 1) -> Fraction:
    """Return the value of a polynomial such as "1/6mNNN-4m+62"."""
    total = Fraction(0)
    for sign, number, letters in re.findall(r"([+-]?)(\d+(?:/\d+)?)?((?:m|N)*)", text.replace(" ", "")):
        if number or letters:
            total += Fraction(f"{sign}{number or 1}") * m ** letters.count("m") * N ** letters.count("N")
    return total


TABLE_II = """
v_0     | 0      | 0      | 0      | 0      | 12      | 9
a_g     | 0      | 0      | 4      | 0      | 4       | 0
a_fg_0  | 0      | 0      | 0      | 0      | 12      | 7
β_0     | 0      | 0      | 27     | 15     | 160     | 125
V_i     | 8N-12  | 5N-9   | 8N-4   | 5N-2   | 20N-12  | 13N-8
a_fg_i  | 0      | 0      | 0      | 0      | 8N-4    | 4N-2
ζ_i     | 22N-33 | 10N-18 | 22N-20 | 10N-10 | 22N-20  | 10N-10
β_i     | 27N-19 | 15N-15 | 27N    | 15N    | 160N    | 125N
1/m*    | N-1    | 0      | N-1    | 0      | N-1     | 0
n/m*    | 5N-5   | 0      | 5N-5   | 0      | 5N-5    | 0
N_i     | 15N-30 | 15N-30 | 15N-15 | 15N-15 | 15N-15  | 15N-15
τ*      | 0      | N      | 0      | N      | 0       | N
I*      | 70N-80 | 86N-94 | 70N-58 | 86N-59 | 70N-48  | 92N-52
β*      | 50N-54 | 49N-55 | 50N-31 | 49N-27 | 50N-27  | 49N-23
a'_0    | 0      | 0      | 86     | 71     | 86      | 71
a_0     | 0      | 0      | 0      | 3      | 0       | 3
ā_i     | 20N-22 | 17N-21 | 20N-12 | 17N-11 | 20N-12  | 17N-11
q̈_i     | 6N-3   | 6N-4   | 6N-1   | 6N-1   | 6N      | 6N
a'_i    | 0      | N-2    | 0      | N-1    | 0       | N-1
total   | 224N-259 | 205N-248 | 224N-30 | 205N-37 | 377N+130 | 333N+93
"""
TABLE_30 = """
V_i     | 8N-12  | 5N-9
ζ_i     | 22N-33 | 10N-18
β_i     | 27N-19 | 15N-15
1/m*    | N-1    | 0
n/m*    | 5N-5   | 0
N_i     | 15N-30 | 15N-30
τ*      | 0      | N
I*      | 70N-80 | 86N-96
β*      | 50N-54 | 49N-49
ā_i     | 20N-18 | 17N-19
q̈_i     | 6N-2   | 6N-3
a'_i    | 0      | N-2
total   | 224N-254 | 205N-241
"""
TABLE_16 = """
v_0     | 0      | 0      | 12     | 9
a_g     | 4      | 0      | 4      | 0
a_fg_0  | 0      | 0      | 12     | 9
β_0     | 9      | 3      | 142    | 110
V_k0    | 4m     | 2m     | 10m    | 6m
a_fg_k0 | 0      | 0      | 4m     | 2m
ζ_k0    | 10m    | 3m     | 10m    | 3m
V_i     | 8mN    | 5mN    | 20mN   | 13mN
a_fg_i  | 0      | 0      | 8mN    | 4mN
ζ_i     | 22mN   | 10mN   | 22mN   | 10mN
β_i     | 27mN   | 15mN   | 160mN  | 125mN
I*      | 0      | 15mN-15m | 0    | 21mN-21m
1/m*    | mN-m   | 0      | mN-m   | 0
n/m*    | 5mN-5m | 0      | 5mN-5m | 0
N_i     | 15mN-15m | 15mN-15m | 15mN-15m | 15mN-15m
β*_i    | 0      | 6mN    | 0      | 6mN
τ*      | 0      | mN     | 0      | mN
XᵀNX    | 70mN-10m | 71mN-10m | 70mN | 71mN
β*      | 50mN-4m | 43mN-4m | 50mN | 43mN
rN      | 42m    | 43m    | 42m    | 43m
rβ*     | 28m    | 24m    | 28m    | 24m
a'_0    | 86     | 27m+62 | 86     | 27m+71
a_0     | 0      | 3      | 0      | 3
a'_k0   | 10m    | 9m     | 10m    | 9m
ā_i     | 20mN   | 17mN   | 20mN   | 17mN
q̈_i     | 6mN    | 6mN    | 6mN    | 6mN
a'_i    | 0      | mN-m   | 0      | mN-m
total   | 224mN+59m+99 | 205mN+63m+68 | 377mN+83m+256 | 333mN+77m+202
"""
TABLE_19 = """
v_0     | 12     | 9      | 12     | 9
a_g     | 4      | 0      | 4      | 0
a_fg_0  | 12     | 9      | 12     | 9
β_0     | 160    | 125    | 0      | 0
V_i     | 20N-12 | 13N-8  | 20N-12 | 13N-8
a_fg_i  | 8N-4   | 4N-2   | 8N-4   | 4N-2
ζ_i     | 22N-20 | 10N-10 | 22N-20 | 10N-10
β_i     | 160N   | 125N   | 160N-79 | 125N-70
1/m*    | N-1    | 0      | N-1    | 0
n/m*    | 5N-5   | 0      | 5N-5   | 0
N_i     | 15N-15 | 15N-15 | 15N-30 | 15N-30
τ*      | 0      | N      | 0      | N
I*      | 70N-48 | 92N-52 | 70N-70 | 92N-92
β*      | 50N-25 | 49N-23 | 50N-60 | 49N-59
a'_0    | 86     | 71     | 0      | 0
a_0     | 0      | 3      | 0      | 0
ā_i     | 20N-12 | 17N-11 | 20N-12 | 17N-11
q̈_i     | 6N     | 6N     | 6N     | 6N
a'_i    | 0      | N-1    | 0      | N-1
total   | 377N+132 | 333N+95 | 377N-265 | 333N-265
"""
TABLE_12 = """
a_g     | 4      | 0
f'_r    | 12     | 3
ω_k0    | 4m     | 2m
a_k0    | 16m    | 9m
ω_ki    | 8mN    | 5mN
a_ki    | 33mN-10m | 28mN-10m
f'_ki   | 33mN   | 30mN
f_ki    | 0      | 6mN
Xᵀf_ki  | 20mN   | 12mN
rf'_k   | 10m    | 6m
K_ki    | 0      | 9mN-9m
XᵀK_kiX | 32mN   | 39mN
Xᵀf_i   | 17mN   | 9mN
Xᵀf_j   | 10mNN-10mN | 6mNN-6mN
Q_k     | 10mN   | 6mN
rK_k    | 15m    | 18m
K_r     | 0      | 9m-6
K*_r    | 1/6mNNN+13/2mNN+61/3mN | 1/6mNNN+6mNN+89/6mN-6
f*_r    | 6mN    | 7mN+6m+6
a_r     | 86     | 65
q̈_k     | mNN+6mN | mNN+5mN
total   | 1/6mNNN+35/2mNN+526/3mN+35m+102 | 1/6mNNN+13mNN+989/6mN+31m+62
"""
TABLE_26 = """
ω_i     | 8N-12  | 5N-9
ω̇_i     | 10N-14 | 7N-11
a_i     | 17N-14 | 13N-14
Ω_i     | 6N-5   | 9N-9
u_i     | 15N-14 | 15N-14
n'_i    | 6N-4   | 6N-4
f'_i    | 12N-12 | 9N-9
f_i     | 20N-30 | 18N-22
total   | 94N-105 | 82N-92
"""
TABLE_28 = """
K_i     | 32N-41 | 48N-61
f_i     | 10NN-23N+16 | 6NN-14N+11
total   | 10NN+9N-25 | 6NN+34N-50
"""
TABLE_2 = """
H, J    | 25/2mNN+11/2mN-18m | 8mNN+30mN-38m
H⁻¹Jᵀ   | 1/6mNNN+13/2mNN-2/3mN | 1/6mNNN+6mNN-37/6mN
Λ⁻¹     | 21mN   | 21mN-21m
Λ       | 141m   | 90m
open    | mNN+100mN-114m | mNN+87mN-105m
XᵀΛX    | 84m    | 86m
XᵀΛẍ    | 76m    | 55m
a_r     | 99     | 27m+62
f_k     | 56m    | 48m
q̈_k     | 6mN    | 6mN
total   | 1/6mNNN+20mNN+791/6mN+225m+99 | 1/6mNNN+15mNN+827/6mN+142m+62
"""
TABLE_8 = """
Λ_k         | 282    | 180
Λ_k ẍ_k     | 72     | 60
Σ Λ_k ẍ_k   | 0      | 12
Σ Λ_k + I_r | 0      | 27
a_r         | 86     | 65
ẍ_k - a_r   | 0      | 12
f_k         | 72     | 60
total       | 512    | 416
"""
TABLE_9 = """
Λ_k⁻¹ + I_r⁻¹       | 0   | 12
I_r⁻¹ f_r           | 6   | 0
ẍ_k - I_r⁻¹ f_r     | 0   | 12
inverse             | 141 | 90
I_r⁻¹ inverse       | 36  | 0
I_r⁻¹ inverse I_r⁻¹ | 21  | 0
I_r⁻¹ inverse (...) | 36  | 30
{...}               | 0   | 6
[...]               | 0   | 21
f_2                 | 86  | 65
I_r⁻¹ f_2           | 6   | 0
(...) - I_r⁻¹ f_2   | 0   | 6
f_1                 | 36  | 30
I_r⁻¹ f_1           | 6   | 0
a_r                 | 0   | 12
total               | 374 | 284
"""
TABLE_21 = """
(A)     | 2      | 3      | 0      | 0
(B)     | 8      | 7      | 8      | 7
(C)     | 8      | 7      | 8      | 7
(D)     | 12     | 12     | 12     | 12
(E)     | 5      | 0      | 5      | 0
(F)     | 3      | 0      | 3      | 0
(G)     | 6      | 0      | 6      | 0
(H)     | 0      | 11     | 0      | 11
(I)     | 0      | 6      | 0      | 6
total   | 44     | 46     | 42     | 43
"""
TABLE_22 = """
(A)     | 2      | 3      | 2      | 3
(B)     | 4      | 5      | 8      | 7
(C)     | 8      | 7      | 4      | 5
(D)     | 8      | 10     | 8      | 10
(E)     | 5      | 0      | 3      | 0
(F)     | 3      | 0      | 3      | 0
(G)     | 4      | 0      | 6      | 0
(H)     | 0      | 9      | 0      | 11
(I)     | 0      | 6      | 0      | 4
total   | 34     | 40     | 34     | 40
"""
TABLE_23 = """
(A)     | 0      | 0      | 0      | 0
(B)     | 4      | 1      | 8      | 7
(C)     | 8      | 7      | 4      | 1
(D)     | 10     | 6      | 10     | 6
(E)     | 5      | 0      | 5      | 0
(F)     | 3      | 0      | 3      | 0
(G)     | 6      | 0      | 6      | 0
(H)     | 0      | 11     | 0      | 11
(I)     | 0      | 6      | 0      | 6
total   | 36     | 31     | 36     | 31
"""
TABLE_24 = """
h^z     | 4      | 3      | 5      | 3
K^z     | 13     | 18     | 12     | 15
h^x     | 4      | 3      | 4      | 3
K^x     | 11     | 14     | 11     | 14
total   | 32     | 39     | 32     | 36
"""
