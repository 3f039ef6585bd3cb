import { expect, test } from 'vitest'
import { startInFolder } from '../support/folder-server.ts'
import { startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** So many secret ids, each for one login. */
const secretIds = 60
/** The server is killed after so many logins. */
const enough = 20

test('a server killed during logins has for each used secret id exactly one token, and each answered token', async () => {
  await using folder = await temporaryFolder()
  const settings = { DEFAULT_MOUNTS: 'auth/machines=approle' }
  await using killed = await startProcess({ folder: folder.path, settings })
  const { rootToken } = killed
  const root = killed.as(rootToken)
  await root.write('auth/machines/role/r', { role_id: 'rid', secret_id_num_uses: 1 })
  const made: string[] = []
  for (let count = 0; count < secretIds; count++)
    made.push(String((await root.write('auth/machines/role/r/secret-id')).body.data?.['secret_id']))

  const answered = new Map<string, string>()
  let dead: Promise<unknown> | undefined
  const logIn = async (secretId: string) => {
    const answer = await killed.anonymous.write('auth/machines/login', {
      role_id: 'rid',
      secret_id: secretId,
    })
    expect(answer.status).toBe(200)
    answered.set(secretId, String(answer.body.auth?.['client_token']))
    if (answered.size === enough) dead = killed.stop('SIGKILL')
  }
  const cut = await Promise.allSettled(made.map(logIn))
  await dead

  expect(answered.size).toBeGreaterThanOrEqual(enough)
  expect(cut).toHaveLength(secretIds)
  await using again = await startInFolder({ folder: folder.path, settings })
  const operator = again.as(rootToken)
  const lookups = await Promise.all(
    made.map((secret_id) => operator.write('auth/machines/role/r/secret-id/lookup', { secret_id })),
  )
  const used = new Set(made.filter((_, index) => lookups[index]?.status === 204))
  // one of them is the root token
  const accessors = (await operator.list('auth/token/accessors')).body.data?.['keys'] as unknown as string[]
  expect(accessors.length - 1).toBe(used.size)
  for (const [secretId, token] of answered) {
    expect(used.has(secretId)).toBe(true)
    expect((await again.as(token).read('auth/token/lookup-self')).status).toBe(200)
  }
})
