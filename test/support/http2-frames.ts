/** RFC 9113 §4.1 */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Types of frames. */
export const kinds = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 }
/** What a client sends first. */
export const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(kinds.settings, 0, 0),
])

/** A header that is not in any table: its name and value as text (RFC 7541 §6.2.2). */
export const header = (name: string, value: string) =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ])

/** The head of a GET. */
export const head = Buffer.concat([
  header(':method', 'GET'),
  header(':path', '/v1/sys/health'),
  header(':scheme', 'https'),
  header(':authority', 'gate'),
])
