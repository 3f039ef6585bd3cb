import { createPublicKey, verify } from 'node:crypto'
import { z } from 'zod'
import type { ChainHead } from './chain.ts'

const signature = z.object({ key_id: z.string(), public_key: z.string(), signature: z.string() })
export type Signature = Readonly<z.output<typeof signature>>

export type Sign = (text: string) => Signature

/** `seq` and `hash` are those of the preceding record. */
export const checkpointFields = z.object({
  seq: z.number(),
  hash: z.string(),
  device: z.string(),
  replica: z.string(),
  ...signature.shape,
})
type Checkpoint = Readonly<z.output<typeof checkpointFields>>

type Signed = Omit<Checkpoint, keyof Signature> & { readonly id: string; readonly time: string }

export function checkpointRecord(
  head: ChainHead,
  { time, device, replica }: { time: string; device: string; replica: string },
  sign: Sign,
): string {
  const { id, seq, hash } = head
  const signed = sign(signedText({ id, seq, hash, time, device, replica }))
  const checkpoint: Checkpoint = { seq, hash, device, replica, ...signed }
  return JSON.stringify({ time, type: 'checkpoint', checkpoint })
}

export function isSignatureRight(id: string, time: string, checkpoint: Checkpoint): boolean {
  const { public_key, signature } = checkpoint
  try {
    const key = createPublicKey({ key: Buffer.from(public_key, 'base64'), format: 'der', type: 'spki' })
    const signed = Buffer.from(signedText({ ...checkpoint, id, time }))
    return key.asymmetricKeyType === 'ed25519' && verify(null, signed, key, Buffer.from(signature, 'base64'))
  } catch {
    // not a public key
    return false
  }
}

const signedText = ({ id, seq, hash, time, device, replica }: Signed): string =>
  `gatehouse-checkpoint-1\n${id}\n${seq}\n${hash}\n${time}\n${device}\n${replica}`
