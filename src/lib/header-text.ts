import { Buffer } from 'node:buffer'

const ascii = /^[\0-\x7f]*$/

/** What a client wrote into a header: Node.js reads it as Latin-1, clients write UTF-8. */
export const headerText = (value: string): string => (ascii.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8'))
