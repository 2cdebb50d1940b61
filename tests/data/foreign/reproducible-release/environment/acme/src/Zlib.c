int zlib_bound(int n) { return n + (n >> 12) + 13; }
