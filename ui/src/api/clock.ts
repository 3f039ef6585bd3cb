/**
 * The server's time, as this page counts it: the time of an answer, and what has passed since. The clock of the
 * computer may be hours off, so nothing is compared with it.
 */
let heard = { server: Date.now(), counted: performance.now(), computer: Date.now(), isFromServer: false }

const farMs = 5_000

/**
 * Whether the computer's clock and the page have counted different times since the last answer: the computer slept,
 * while some browsers do not count, or somebody set its clock. Only the server can say which.
 */
export const isClockInDoubt = (): boolean =>
  Math.abs(Date.now() - heard.computer - (performance.now() - heard.counted)) > farMs

/**
 * Takes the time of an answer, if there was none before or it is in doubt. Servers may differ by a little. Returns whether
 * it was in doubt.
 */
export function hearServerTime(date: string | null): boolean {
  // it names a whole second that has begun; nothing that the server dates in the same answer may lie ahead
  const server = Date.parse(date ?? '') + 999
  const isInDoubt = heard.isFromServer && isClockInDoubt()
  if (Number.isNaN(server) || (heard.isFromServer && !isInDoubt)) return false
  heard = { server, counted: performance.now(), computer: Date.now(), isFromServer: true }
  return isInDoubt
}

/** The server's time in milliseconds. */
export const serverNow = (): number => heard.server + performance.now() - heard.counted

/** When something ends of which the server has just said how many seconds it has left. */
export const endAfter = (seconds: number): number => serverNow() + seconds * 1000

/** Facts that the server has just sent, with their end. */
export const withEnd = <Facts extends { readonly ttl: number }>(facts: Facts) => ({
  ...facts,
  end: endAfter(facts.ttl),
})
