/* ==== kernels for the CPU =================================================================== */

//@ kernels

/* ==== regions on the CPU: the kernels of one piece of tensor work, run by all threads ======= */

//@ regions
