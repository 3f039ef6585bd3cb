import { expect, test } from 'vitest'
import type { Mount } from '../../../../src/core/mounts/mount.ts'
import { mountPointOf } from '../../../../src/core/mounts/mount-path.ts'
import { rootNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { convertFields } from '../../../../src/lib/text/fields.ts'
import { configInput } from '../../../../src/plugins/jwt-auth/config/jwt-config.ts'
import { JwtMethod } from '../../../../src/plugins/jwt-auth/method.ts'
import { damage } from '../../../support/damage.ts'
import { startInFolder } from '../../../support/folder-server.ts'
import { openSharedCores, type SharedCore } from '../../../support/shared-cores.ts'
import { quietLog } from '../../../support/start-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { aSigner } from '../signer.ts'

const signer = aSigner('ES256')
const issuer = 'https://ci.example.com'

/** Two servers, which hear of each other's writes only when they have to; until then their copies count as current. */
async function twoServers() {
  const cores = await openSharedCores()
  const opened = (core: SharedCore) => {
    Object.assign(core.storage.shared.copies, { areCurrent: () => true })
    const options = { maxJwtSize: 0, failuresKept: 0, keepsSignatures: false }
    const method = new JwtMethod({
      ...core,
      ...options,
      log: quietLog,
      onFetch: () => {},
      onKeyAlert: () => {},
    })
    return {
      core,
      enable: (path: string, namespace = 'root') =>
        core.mounts.enable(mountPointOf(namespace, 'auth', path), { type: 'jwt' }),
      take: (mount: Mount) => {
        const config = { jwt_validation_pubkeys: [signer.pem], accept_as_token: true, bound_issuer: issuer }
        return method.putConfig(mount, convertFields(configInput, config).values)
      },
    }
  }
  return {
    one: opened(cores.one),
    other: opened(cores.other),
    [Symbol.asyncDispose]: () => cores[Symbol.asyncDispose](),
  }
}

test('an issuer is refused to a mount whose server has not heard of the mount that takes it', async () => {
  await using servers = await twoServers()
  const { one, other } = servers
  const late = await other.enable('late')
  await one.take(await one.enable('early'))

  await expect(other.take(late)).rejects.toThrow(
    `tokens of issuer "${issuer}" are accepted by mount "auth/early/" already`,
  )
})

test('a mount whose issuer another one takes while it moves does not get there', async () => {
  await using servers = await twoServers()
  const { one, other } = servers
  const { core } = one
  const namespace = await core.namespaceLife.create(rootNamespace, 'team', () => ({}))
  const moving = await one.enable('moving', namespace.id)
  await one.take(moving)
  const staying = await other.enable('staying')
  let checks = 0
  core.mounts.beforeChange(async ({ uuid }) => {
    if (uuid !== moving.uuid) return
    checks += 1
    // the first one is at the beginning of the move, when nothing is in the way
    if (checks === 2) await other.take(staying)
  })

  const id = await core.mounts.moves.start(
    { namespace, path: 'auth/moving' },
    { namespace: rootNamespace, path: 'auth/moving' },
  )

  await expect.poll(async () => (await core.mounts.moves.find(id))?.migration_info.status).toBe('failure')
  expect(core.mounts.table.byUuid(moving.uuid)?.namespace).toBe(namespace.id)
})

test('a configuration that cannot be read does not keep other mounts of the namespace from taking JWTs', async () => {
  await using folder = await temporaryFolder()
  const jwt = () => {
    const seconds = Math.floor(Date.now() / 1000)
    return signer.sign({ iss: issuer, sub: 'joe', aud: 'gate', iat: seconds, exp: seconds + 600 })
  }
  const config = { jwt_validation_pubkeys: [signer.pem], bound_issuer: issuer, default_role: 'dev' }
  let token = ''
  let broken: unknown
  {
    await using server = await startInFolder({ folder: folder.path })
    token = server.rootToken
    const root = server.as(token)
    for (const name of ['broken', 'whole']) {
      await root.write(`sys/auth/${name}`, { type: 'jwt' })
      await root.write(`auth/${name}/config`, { ...config, accept_as_token: name === 'whole' })
    }
    await root.write('auth/whole/role/dev', { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' })
    broken = (await root.read('sys/auth/broken')).body.data?.['uuid']
  }
  damage(`${folder.path}/data/gatehouse.db`, `%${String(broken)}/config`)
  await using server = await startInFolder({ folder: folder.path })
  expect((await server.as(token).read('auth/broken/config')).status).toBe(500)

  const answer = await server.as(jwt()).read('auth/token/lookup-self')

  expect(answer.status).toBe(200)
})
