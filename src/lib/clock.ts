/** Time as it is handed in. Tests own it; `src/server.ts` hands in the machine's. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
