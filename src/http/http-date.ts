let second = 0
let text = ''

/** The time as a `Date` header has it. RFC 9110 §5.6.7 */
export function httpDate(now = Date.now()): string {
  const current = Math.floor(now / 1000)
  if (current !== second) {
    second = current
    text = new Date(now).toUTCString()
  }
  return text
}
