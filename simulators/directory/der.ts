/** DER encodings of the ASN.1 values that an X.509 certificate contains. ITU-T X.690 */
export const der = {
  sequence: (...parts: Uint8Array[]) => element(0x30, ...parts),
  set: (...parts: Uint8Array[]) => element(0x31, ...parts),
  /** A positive integer, given by its big-endian bytes. */
  integer: (bytes: Uint8Array) => element(0x02, ...((bytes[0] ?? 0) > 0x7f ? [Uint8Array.of(0)] : []), bytes),
  boolean: (value: boolean) => element(0x01, Uint8Array.of(value ? 0xff : 0)),
  octets: (bytes: Uint8Array) => element(0x04, bytes),
  /** `unusedBits` is the number of unused low bits in the last byte. */
  bits: (bytes: Uint8Array, unusedBits = 0) => element(0x03, Uint8Array.of(unusedBits), bytes),
  text: (value: string) => element(0x0c, Buffer.from(value, 'utf8')),
  /** RFC 5280 §4.1.2.5: the year has two digits before 2050, then four. */
  time: (date: Date) => {
    const text = `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
    return date.getUTCFullYear() < 2050
      ? element(0x17, Buffer.from(text.slice(2), 'latin1'))
      : element(0x18, Buffer.from(text, 'latin1'))
  },
  /** An object identifier in dotted notation. */
  oid: (dotted: string) => element(0x06, Uint8Array.from(oidBytes(dotted))),
  /** Explicit tag `[number]` around other values. */
  explicit: (number: number, ...parts: Uint8Array[]) => element(0xa0 + number, ...parts),
  /** Implicit tag `[number]` in place of a primitive type's tag. */
  implicit: (number: number, bytes: Uint8Array) => element(0x80 + number, bytes),
}

function element(tag: number, ...parts: Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts)
  return Buffer.concat([Uint8Array.of(tag, ...lengthBytes(content.length)), content])
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return [0x80 + bytes.length, ...bytes]
}

function oidBytes(dotted: string): number[] {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return [first * 40 + second, ...rest.flatMap(base128)]
}

function base128(value: number): number[] {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift((rest % 128) + 0x80)
  return bytes
}
