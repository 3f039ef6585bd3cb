import { Buffer } from 'node:buffer'
import type { Random } from '../../../lib/system/random.ts'

const idBytes = 12

/** The id of a new key, which no earlier key has. */
export const newKeyId = (random: Random): string => Buffer.from(random.bytes(idBytes)).toString('base64url')
