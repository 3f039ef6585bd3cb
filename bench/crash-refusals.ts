import { send } from '../simulators/operator.ts'
import type { SimulatedDisk } from '../test/support/disk/simulated-disk.ts'

/** Names of policies by the response to their write. */
export type PolicyAnswers = { readonly acknowledged: string[]; readonly refused: string[] }

type Target = { url: string; rootToken: string }

const maxPolicies = 100

/**
 * Writes policies one after another; a sync of the log fails after `passing` more. Returns at the first
 * refusal: the caller must kill the server before anything else is written. Without syncs no write is
 * refused.
 */
export async function writeUntilRefused(
  { url, rootToken }: Target,
  disk: SimulatedDisk,
  prefix: string,
  passing: number,
): Promise<PolicyAnswers> {
  const answers: PolicyAnswers = { acknowledged: [], refused: [] }
  disk.failLogSyncs(1, passing)
  for (let count = 0; count < maxPolicies && answers.refused.length === 0; count++) {
    const name = `${prefix}-${count}`
    const { status, body } = await send(url, {
      method: 'PUT',
      path: pathOf(name),
      token: rootToken,
      body: { policy: 'path "x" {}' },
    })
    if (status === 204) answers.acknowledged.push(name)
    else if (status === 503) answers.refused.push(name)
    else throw new Error(`unexpected response to a policy request: ${status}: ${JSON.stringify(body)}`)
  }
  return answers
}

/** Counts the acknowledged policies that are lost, and the refused ones that exist. */
export async function compareWithAnswers(
  target: Target,
  { acknowledged, refused }: PolicyAnswers,
): Promise<{ lost: number; returned: number }> {
  const there = async (names: readonly string[]) => {
    let count = 0
    for (const name of names) if (await isThere(target, name)) count++
    return count
  }
  return { lost: acknowledged.length - (await there(acknowledged)), returned: await there(refused) }
}

async function isThere({ url, rootToken }: Target, name: string): Promise<boolean> {
  const { status, body } = await send(url, { method: 'GET', path: pathOf(name), token: rootToken })
  if (status !== 200 && status !== 404)
    throw new Error(`unexpected response to a policy request: ${status}: ${JSON.stringify(body)}`)
  return status === 200
}

const pathOf = (name: string) => `sys/policies/acl/${name}`
