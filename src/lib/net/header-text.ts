import { Buffer } from 'node:buffer'

/** A header's value as UTF-8, which clients send; Node.js decodes headers as Latin-1. */
export function headerText(value: string): string {
  return /^[\0-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}
