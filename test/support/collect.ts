/** Collects all garbage. `vitest.config.ts` starts the processes of tests with `--expose-gc`. */
export function collect(): void {
  if (globalThis.gc === undefined) throw new Error('this process was started without --expose-gc')
  void globalThis.gc()
}
