/**
 * The environment for the memory allocator of glibc in a guest (mallopt(3)). Without it, glibc raises the threshold for separate mappings
 * to the largest freed block, and threads have an arena each. Then the bodies of requests lie between smaller blocks, and the kernel does
 * not get their memory back when they are freed: a guest with 60 MiB of bodies ended at its 256 MiB.
 */
export const GUEST_MALLOC: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "1048576",
};
