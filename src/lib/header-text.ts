import { Buffer } from 'node:buffer'

/** The value of a header as it was meant: Node.js reads headers as Latin-1, clients write them as UTF-8. */
export function headerText(value: string): string {
  return /^[\0-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}
