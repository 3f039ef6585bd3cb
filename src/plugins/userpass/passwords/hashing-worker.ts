import { parentPort } from 'node:worker_threads'
import { yieldToOthers } from '../../../lib/thread-priority.ts'
import { type Argon2Cost, argon2Hash, argon2Matches } from './argon2.ts'
import { bcryptMatches } from './bcrypt.ts'

/* A thread that computes hashes of passwords, one at a time. hashing-threads.ts starts it. */

/** What it is asked: the hash of a password, or whether a password has one of two hashes. */
export type HashingTask = { readonly password: Uint8Array } & (
  | { readonly salt: Uint8Array; readonly cost: Argon2Cost }
  | {
      readonly own: string
      /** Undefined: it has none, but pays for one of this cost. */
      readonly imported: string | undefined
      /** 0: bcrypt is not computed. */
      readonly bcryptCost: number
    }
)

/** What it answers. */
export type HashingReply = { readonly result: string | Matches } | { readonly failure: string }
export type Matches = { readonly own: boolean; readonly imported: boolean }

/** docs/limits.md#passwords */
const niceness = 15

async function done(task: HashingTask): Promise<string | Matches> {
  const { password } = task
  if ('salt' in task) return argon2Hash(password, task.salt, task.cost)
  const own = argon2Matches(password, task.own)
  const imported = task.bcryptCost > 0 && (await bcryptMatches(password, task.imported, task.bcryptCost))
  return { own, imported }
}

yieldToOthers(niceness)
parentPort?.on('message', (task: HashingTask) => {
  const answer = (reply: HashingReply) => parentPort?.postMessage(reply)
  done(task).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ failure: String(error) }),
  )
})
