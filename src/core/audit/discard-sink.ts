import type { Sink } from './sink.ts'

/** Accepts every line and keeps none. */
export const discardSink: Sink = {
  isReadable: false,
  open: () => ({ isNew: false }),
  write: async () => {},
  sync: async () => {},
  isReplaced: () => false,
  close: () => {},
}
