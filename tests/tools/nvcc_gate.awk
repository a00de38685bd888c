# nvcc_gate.awk: what the PTX of one architecture and the assembler's report say of each kernel.
# Reads FILE.ptx, then the log of `ptxas -v` (with -v arch=sm_80, -v file=NAME).
# Prints a line for each kernel; lines that begin with "FOUND" break a rule.

function found(kernel, what) { print "FOUND " file ": " kernel " (" arch "): " what }

# _ZL8k_matmulPKfS0_Pfii: k_matmul
function plain(name,    n) {
    if (!match(name, /^_ZL?[0-9]+/)) return name
    n = substr(name, 1, RLENGTH)
    sub(/^_ZL?/, "", n)
    return substr(name, RLENGTH + 1, n)
}

# ---- the PTX

FNR == NR && /\.entry / {
    match($0, /[A-Za-z0-9_$]+ *\(? *$/)
    kernel = substr($0, RSTART)
    gsub(/[( ]/, "", kernel)
    entry[kernel] = 1
}
FNR == NR && /^\.maxntid/ {
    gsub(/,/, "")
    block[kernel] = $2 * $3 * $4
}
FNR == NR && /^[ \t]+(@[!%p0-9]+ )?[a-z]/ {
    if (/(^|[ \t])(ld|st)\.[a-z.]*f64/) has_double[kernel] = 1
    if (/\.f64/ && !/(ld|st|mov|cvt\.[a-z]+\.f32)\./ && !(kernel in double)) double[kernel] = $0
}
FNR == NR { next }

# ---- the report

/Compiling entry function/ {
    split($0, quoted, "'")
    kernel = quoted[4] == arch ? quoted[2] : ""
}
/bytes stack frame/ && kernel != "" {
    stack[kernel] = $1
    spills[kernel] = $5 + $9
}
/Used [0-9]+ registers/ && kernel != "" {
    match($0, /Used [0-9]+/)
    registers[kernel] = substr($0, RSTART + 5, RLENGTH - 5)
    shared[kernel] = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH) + 0 : 0
    order[++n] = kernel
    kernel = ""
}

END {
    for (i = 1; i <= n; i++) {
        k = order[i]
        name = plain(k)
        printf "%-6s %-32s block %4d registers %3d shared %5d stack %d spills %d %s\n", arch, name,
            block[k], registers[k], shared[k], stack[k], spills[k], file
        # a warp gets registers in units of 256, so a thread in units of 8
        each = int((registers[k] + 7) / 8) * 8
        if (!(k in block)) found(name, "no __launch_bounds__")
        if (each * block[k] > 65536) found(name, "a block needs " each * block[k] " registers of 65536")
        if (shared[k] > 49152) found(name, shared[k] " bytes of shared memory, 49152 at most")
        if (stack[k]) found(name, stack[k] " bytes of stack: an array is indexed at run time")
        if (spills[k]) found(name, spills[k] " bytes of spilled registers")
        if (k in double && !has_double[k]) {
            gsub(/^[ \t]+|[ \t]+/, " ", double[k])
            found(name, "double arithmetic, and no double in memory:" double[k])
        }
        kernels[k] = 1
    }
    for (k in entry)
        if (!(k in kernels)) found(plain(k), "not in the assembler's report")
    if (!n) found("-", "no kernels")
}
