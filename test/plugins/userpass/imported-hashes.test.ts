import { hashSync } from 'bcrypt'
import { expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { startUserpassServer } from './userpass-server.ts'

const server = shared(startUserpassServer)

/** Of `pw`, with the least cost. */
const hash = '$2b$05$PEz0CKTeX13TeK5zOBK12e1CE4FDuO.s7boBYbZ3RA3pHdT7hb1/q'
const wrong = '400 invalid username or password'

test.each(['2b', '2a', '2y'])('a hash that begins with $%s$ is imported', async (name) => {
  const up = await (await server()).mount()

  const written = await up.user({ password_hash: hash.replace('2b', name) }, 'eve')

  expect(written.status).toBe(204)
  expect([await up.try('bad', 'eve'), await up.try('pw', 'eve'), await up.try('pw', 'eve')]).toEqual([
    wrong,
    'ok',
    'ok',
  ])
})

test.each([
  [{ password: 'a', password_hash: hash }, 'only one of password or password_hash may be provided'],
  [{ password_hash: hash.replace('05', '04') }, 'bcrypt cost of 4 is too low, want 5 at minimum'],
  [{ password_hash: hash.replace('05', '13') }, 'bcrypt cost of 13 exceeds maximum cost of 12'],
  [{ password_hash: hash.replace('05', '03') }, 'password_hash is not a valid bcrypt hash'],
  [{ password_hash: hash.replace('2b', '2x') }, 'password_hash is not a valid bcrypt hash'],
  [{ password_hash: hash.slice(0, 20) }, 'password_hash is not a valid bcrypt hash'],
  [{ password_hash: `${hash}\n` }, 'password_hash is not a valid bcrypt hash'],
  [{ password_hash: 'pw' }, 'password_hash is not a valid bcrypt hash'],
  [{ password_hash: '$5$abc$def' }, 'password_hash is not a valid bcrypt hash'],
])('a hash is refused: %j', async (body, text) => {
  const { root, mount } = await server()
  const up = await mount()

  const answers = [
    await up.user(body),
    await up.user(body, 'new'),
    await root.write(`${up.path}/users/bob/password`, body),
  ]

  for (const answer of answers) expect([answer.status, answer.body.errors]).toEqual([400, [text]])
  expect(await up.try('pw')).toBe('ok')
})

test('the hash itself is no password', async () => {
  const { root, mount } = await server()
  const up = await mount()
  await root.write(`${up.path}/users/bob/password`, { password_hash: hash })

  expect([await up.try(hash), await up.try('pw')]).toEqual([wrong, 'ok'])
})

test('with an imported hash a password has at most 72 bytes; after a login every byte counts', async () => {
  const up = await (await server()).mount()
  const longest = 'p'.repeat(72)
  await up.user({ password_hash: hashSync(longest, 5) })

  const before = [await up.try(`${longest}x`), await up.try(longest)]
  const after = [await up.try(`${longest}x`), await up.try(longest)]

  expect([before, after]).toEqual([
    [wrong, 'ok'],
    [wrong, 'ok'],
  ])
})

test('a password with a zero byte is compared as a whole', async () => {
  const up = await (await server()).mount()
  await up.user({ password_hash: hashSync('a\0b', 5) })

  expect([await up.try('a'), await up.try('a\0c'), await up.try('a\0b')]).toEqual([wrong, wrong, 'ok'])
})
