import { openStoppedStore } from './stopped-store.ts'

export type FillPoliciesInput = {
  /** The folder of a stopped server. */
  folder: string
  count: number
  onProgress: (done: number) => void
}

const policiesAtOnce = 1000

export const filledPolicy = (index: number): string => `stored-${index}`

/** Rules as of a small team. */
const textOf = (name: string): string =>
  [
    `path "secret/data/${name}/*" { capabilities = ["create", "read", "update", "delete"] }`,
    `path "secret/metadata/${name}/*" { capabilities = ["read", "list"] }`,
    `path "azure/creds/${name}" { capabilities = ["read"] }`,
  ].join('\n')

/** Writes `count` policies into a store, each as its request would, but many of them per commit. */
export async function fillPolicies({ folder, count, onProgress }: FillPoliciesInput): Promise<void> {
  await using core = await openStoppedStore(folder)
  for (let done = 0; done < count; ) {
    const size = Math.min(policiesAtOnce, count - done)
    await Promise.all(
      Array.from({ length: size }, (_, index) => {
        const name = filledPolicy(done + index)
        return core.policies.put('root', name, textOf(name))
      }),
    )
    done += size
    onProgress(done)
  }
}
