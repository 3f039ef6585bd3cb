import { type Answer, send, sendSuccessfully } from '../simulators/operator.ts'

/** What a writer makes and removes under one name: how many steps were acknowledged, and whether one more was sent. */
export type WrittenSettings = { readonly name: string; done: number; isUnsure: boolean }

/** What a server shows of the settings with one name; undefined: nothing. */
type Shown = {
  readonly roleTtl?: unknown
  readonly secretIds?: unknown
  readonly userTtl?: unknown
  readonly mount?: unknown
  readonly key?: unknown
  readonly policies?: unknown
}

type Step = {
  readonly method?: 'DELETE'
  readonly path: string
  readonly body?: object
  readonly after: Shown
}

const writers = 8
const [roles, users] = ['auth/crash-approle/role', 'auth/crash-userpass/users']
const groups = 'identity/group/name'
/** Of no password. */
const password_hash = '$2b$05$abcdefghijklmnopqrstuuWnFqjyAnCTf3Pd8qsIZ4hQeZ9eKpDuW'

const stepsOf = (name: string): Step[] => [
  { path: `${roles}/${name}`, body: { token_ttl: 60 }, after: { roleTtl: 60 } },
  { path: `${roles}/${name}/token-ttl`, body: { token_ttl: 120 }, after: { roleTtl: 120 } },
  { path: `${roles}/${name}/secret-id`, body: {}, after: { roleTtl: 120, secretIds: 1 } },
  { path: `${roles}/${name}/secret-id`, body: {}, after: { roleTtl: 120, secretIds: 2 } },
  { method: 'DELETE', path: `${roles}/${name}`, after: {} },
  { path: `${users}/${name}`, body: { password_hash, token_ttl: 60 }, after: { userTtl: 60 } },
  { path: `${users}/${name}`, body: { token_ttl: 90 }, after: { userTtl: 90 } },
  { path: `sys/mounts/${name}`, body: { type: 'kv' }, after: { userTtl: 90, mount: '' } },
  { path: `sys/mounts/${name}/tune`, body: { description: 'x' }, after: { userTtl: 90, mount: 'x' } },
  { method: 'DELETE', path: `${users}/${name}`, after: { mount: 'x' } },
  { method: 'DELETE', path: `sys/mounts/${name}`, after: {} },
  { path: `identity/oidc/role/${name}`, body: { key: 'crash' }, after: { key: 'crash' } },
  { path: `${groups}/${name}`, body: { policies: ['a'] }, after: { key: 'crash', policies: ['a'] } },
  { path: `${groups}/${name}`, body: { policies: ['b'] }, after: { key: 'crash', policies: ['b'] } },
  { method: 'DELETE', path: `identity/oidc/role/${name}`, after: { policies: ['b'] } },
  { method: 'DELETE', path: `${groups}/${name}`, after: {} },
]

export async function mountLogins(url: string, rootToken: string): Promise<void> {
  for (const [path, body] of [
    ['sys/auth/crash-approle', { type: 'approle' }],
    ['sys/auth/crash-userpass', { type: 'userpass' }],
    ['identity/oidc/key/crash', { algorithm: 'ES256' }],
  ] as const)
    await sendSuccessfully(url, { method: 'POST', path, token: rootToken, body })
}

/** Writes and removes roles, users, mounts and groups until the server ends. `round` makes their names unique. */
export async function writeSettingsUntilCut(
  url: string,
  token: string,
  round: string,
): Promise<WrittenSettings[]> {
  const written: WrittenSettings[] = []
  const writeOn = async (writer: number) => {
    for (let count = 0; ; count++) {
      const settings = { name: `crash-${round}-${writer}-${count}`, done: 0, isUnsure: false }
      written.push(settings)
      for (const { method = 'POST', path, body } of stepsOf(settings.name)) {
        settings.isUnsure = true
        const answer: Answer | undefined = await send(url, { method, path, token, body }).catch(
          () => undefined,
        )
        if (answer === undefined) return
        if (answer.status > 299) throw new Error(`unexpected response to ${method} ${path}: ${answer.status}`)
        settings.done++
        settings.isUnsure = false
      }
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => writeOn(writer)))
  return written
}

/** Where a restarted server contradicts what was acknowledged. */
export async function settingsProblems(
  url: string,
  token: string,
  written: readonly WrittenSettings[],
): Promise<string[]> {
  const { body: table } = await send(url, { method: 'GET', path: 'sys/mounts', token })
  const problems = await Promise.all(
    written.map(async ({ name, done, isUnsure }) => {
      const found = JSON.stringify(await shown(url, token, name, Object(table?.data)))
      const steps = stepsOf(name)
      const after = (count: number) => JSON.stringify(shownText(count === 0 ? {} : steps[count - 1]?.after))
      const isRight = found === after(done) || (isUnsure && found === after(done + 1))
      return isRight ? [] : [`settings after ${done} steps are ${found}, not ${after(done)}`]
    }),
  )
  return problems.flat()
}

async function shown(
  url: string,
  token: string,
  name: string,
  mounts: Record<string, { description: string } | undefined>,
): Promise<unknown[]> {
  const ask = async (path: string, method = 'GET') =>
    Object((await send(url, { method, path, token })).body?.data)
  const [role, ids, user, oidc, group] = await Promise.all([
    ask(`${roles}/${name}`),
    ask(`${roles}/${name}/secret-id`, 'LIST'),
    ask(`${users}/${name}`),
    ask(`identity/oidc/role/${name}`),
    ask(`${groups}/${name}`),
  ])
  return shownText({
    roleTtl: role.token_ttl,
    secretIds: ids.keys?.length,
    userTtl: user.token_ttl,
    mount: mounts[`${name}/`]?.description,
    key: oidc.key,
    policies: group.policies,
  })
}

const shownText = ({ roleTtl, secretIds, userTtl, mount, key, policies }: Shown = {}): unknown[] => [
  roleTtl,
  secretIds,
  userTtl,
  mount,
  key,
  policies,
]
