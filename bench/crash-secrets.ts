import { type Answer, send, sendSuccessfully } from '../simulators/operator.ts'

/** A secret that a writer has changed: how many steps were acknowledged, and whether one more was sent. */
export type WrittenSecret = { readonly name: string; done: number; isUnsure: boolean }

/** A change of a secret, and all that is left of it afterwards, under its first name and its second. */
type Step = {
  readonly method: string
  readonly at: (name: string) => string
  readonly body?: unknown
  readonly left: string
}

const mountPath = 'crash-secrets'
const writers = 4
const second = (name: string) => `${name}-moved`
const data = (name: string) => `data/${name}`
const write = (n: number, left: string): Step => ({ method: 'POST', at: data, body: { data: { n } }, left })

/** Three versions are kept. */
const steps: readonly Step[] = [
  write(1, '1:1 | '),
  write(2, '1:1 2:2 | '),
  write(3, '1:1 2:2 3:3 | '),
  write(4, '2:2 3:3 4:4 | '),
  { method: 'PUT', at: (name) => `destroy/${name}`, body: { versions: [2] }, left: '2:destroyed 3:3 4:4 | ' },
  { method: 'DELETE', at: data, left: '2:destroyed 3:3 4:deleted | ' },
  {
    method: 'PUT',
    at: (name) => `undelete/${name}`,
    body: { versions: [4] },
    left: '2:destroyed 3:3 4:4 | ',
  },
  { method: 'PATCH', at: data, body: { data: { n: 5 } }, left: '3:3 4:4 5:5 | ' },
  {
    method: 'POST',
    at: (name) => `copy/${second(name)}`,
    body: { versions: 'all' },
    left: '3:3 4:4 5:5 | 3:3 4:4 5:5',
  },
  { method: 'DELETE', at: (name) => `metadata/${name}`, left: ' | 3:3 4:4 5:5' },
  { method: 'DELETE', at: (name) => `metadata/${second(name)}`, left: ' | ' },
]

export async function mountSecrets(url: string, rootToken: string): Promise<void> {
  for (const [path, body] of [
    [`sys/mounts/${mountPath}`, { type: 'kv-v2' }],
    [`${mountPath}/config`, { max_versions: 3 }],
  ] as const)
    await sendSuccessfully(url, { method: 'POST', path, token: rootToken, body })
}

/** Writes, deletes and copies secrets until the server ends. `round` makes their names unique. */
export async function writeSecretsUntilCut(
  url: string,
  rootToken: string,
  round: string,
): Promise<WrittenSecret[]> {
  const written: WrittenSecret[] = []
  const writeOn = async (writer: number) => {
    for (let count = 0; ; count++) {
      const secret = { name: `${round}/${writer}-${count}`, done: 0, isUnsure: false }
      written.push(secret)
      for (const step of steps) {
        secret.isUnsure = true
        const answer = await take(url, rootToken, secret.name, step)
        if (answer === undefined) return
        if (answer.status > 299)
          throw new Error(`unexpected response to a write of a secret: ${answer.status}`)
        secret.done++
        secret.isUnsure = false
      }
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => writeOn(writer)))
  return written
}

/** Undefined if the server is gone. */
const take = (
  url: string,
  token: string,
  name: string,
  { method, at, body }: Step,
): Promise<Answer | undefined> =>
  send(url, {
    method,
    path: `${mountPath}/${at(name)}`,
    token,
    ...(body !== undefined && { body: { from: name, ...Object(body) } }),
    ...(method === 'PATCH' && { headers: { 'Content-Type': 'application/merge-patch+json' } }),
  }).catch(() => undefined)

/** Where a restarted server contradicts what was acknowledged. */
export async function secretProblems(
  url: string,
  rootToken: string,
  secrets: readonly WrittenSecret[],
): Promise<string[]> {
  const problems = await Promise.all(
    secrets.map(async ({ name, done, isUnsure }) => {
      const found = `${await leftOf(url, rootToken, name)} | ${await leftOf(url, rootToken, second(name))}`
      const after = (count: number) => (count === 0 ? ' | ' : steps[count - 1]?.left)
      const isRight = found === after(done) || (isUnsure && found === after(done + 1))
      return isRight ? [] : [`a secret after ${done} steps is "${found}", not "${after(done)}"`]
    }),
  )
  return problems.flat()
}

/** The versions of a key, with their data. */
async function leftOf(url: string, token: string, name: string): Promise<string> {
  const read = async (path: string) => send(url, { method: 'GET', path: `${mountPath}/${path}`, token })
  const { body } = await read(`metadata/${name}`)
  const versions: Record<string, { destroyed: boolean; deletion_time: string }> =
    Object(body?.data).versions ?? {}
  const shown = Object.entries(versions).map(async ([number, { destroyed, deletion_time }]) => {
    if (destroyed) return `${number}:destroyed`
    if (deletion_time !== '') return `${number}:deleted`
    const version = await read(`data/${name}?version=${number}`)
    return `${number}:${Object(Object(version.body?.data).data).n ?? version.status}`
  })
  return (await Promise.all(shown)).join(' ')
}
