import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { type Answer, type Client, inside, type Json } from '../support/client.ts'
import type { TestServer } from '../support/start-server.ts'

/** Part of every name in the other namespace; others may have the same name. */
export const mark = 'of-bravo'

/** Part of every text and note that the other namespace stores; nobody outside ever sends it. */
export const hidden = 'kept-in-there'

export const everything =
  'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo", "patch", "scan"] }'

/** A namespace with one object of every kind, and a way to see whether anything was changed. */
export type OtherNamespace = {
  /** Values that someone might have seen of it and use elsewhere. */
  readonly ids: Readonly<Record<string, string>>
  /** Everything that can be read of it, except what changes with time alone. */
  state(): Promise<unknown[]>
}

export async function fillOtherNamespace(server: TestServer): Promise<OtherNamespace> {
  const { root } = server
  const at = inside('bravo')
  const done = async (answer: Promise<Answer>): Promise<Json> => {
    const { status, text, body } = await answer
    if (status >= 300) throw new Error(`preparing the namespace: ${status} ${text}`)
    return body
  }
  const signer = aSigner()
  const named = (path: string) => path.replaceAll('*', mark).replaceAll('%', hidden)
  const write = (path: string, body: unknown = {}) =>
    done(root.write(named(path), JSON.parse(named(JSON.stringify(body))), at))

  await done(root.write('sys/namespaces/bravo', { custom_metadata: { note: hidden } }))
  await write('sys/namespaces/child-*', { custom_metadata: { note: '%' } })
  await write('sys/policies/acl/policy-*', { policy: 'path "cubbyhole/*" { capabilities = ["read"] } # %' })
  await done(root.write('sys/policies/acl/all', { policy: everything }, at))
  await write('sys/auth/jwt-*', { type: 'jwt', description: '%' })
  await done(
    root.write(`auth/jwt-${mark}/config`, { jwt_validation_pubkeys: [signer.pem], bound_issuer: mark }, at),
  )
  const role = {
    role_type: 'jwt',
    user_claim: 'sub',
    groups_claim: 'groups',
    bound_subject: '*',
    token_policies: ['policy-*'],
    token_ttl: '30d',
  }
  await write('auth/jwt-*/role/role-*', role)
  await write('auth/token/roles/role-*', { allowed_policies: ['policy-*'] })
  await write('identity/oidc/key/key-*', { allowed_client_ids: ['*'] })
  await write('identity/oidc/role/role-*', { key: 'key-*', template: '{"x":"%"}' })
  const now = Math.floor(Date.now() / 1000)
  const jwt = signer.sign({ iss: mark, sub: mark, groups: [mark], iat: now, exp: now + 3600 })
  const login = await write('auth/jwt-*/login', { role: 'role-*', jwt })
  const token = await write('auth/token/create', {
    policies: ['all'],
    meta: { note: '%' },
    display_name: '*',
    ttl: '30d',
  })
  const tokenId = String(token['auth']?.['client_token'])
  const entityId = String(login['auth']?.['entity_id'])
  await write(`identity/entity/id/${entityId}`, { name: 'entity-*', metadata: { note: '%' } })
  const accessor = String((await done(root.read('sys/auth', at)))['data']?.[`jwt-${mark}/`]?.['accessor'])
  const group = await write('identity/group', {
    name: 'group-*',
    policies: ['policy-*'],
    member_entity_ids: [entityId],
  })
  const external = await write('identity/group', {
    name: 'external-*',
    type: 'external',
    metadata: { note: '%' },
  })
  const groupAlias = await write('identity/group-alias', {
    name: '*',
    mount_accessor: accessor,
    canonical_id: external['data']?.['id'],
  })
  const entity = await done(root.read(`identity/entity/id/${entityId}`, at))
  const entityAliasId = String(entity['data']?.['aliases']?.[0]?.['id'])
  const own = server.as(tokenId)
  await done(own.write('cubbyhole/kept', { text: hidden }, at))
  const leases = await done(root.list('sys/leases/lookup/auth/token/create', at))
  await write('sys/mounts/engine', { type: 'practice', description: '%' })
  const secret = await done(own.read('engine/creds/ci', at))
  const mounts = await done(root.read('sys/mounts', at))

  const ids = {
    loginToken: String(login['auth']?.['client_token']),
    loginAccessor: String(login['auth']?.['accessor']),
    token: tokenId,
    accessor: String(token['auth']?.['accessor']),
    lease: `auth/token/create/${String(leases['data']?.['keys']?.[0])}`,
    secretLease: String(secret['lease_id']),
    credential: String(secret['data']?.['credential']),
    engine: String(mounts['data']?.['engine/']?.['accessor']),
    mount: accessor,
    entity: entityId,
    entityAlias: entityAliasId,
    group: String(group['data']?.['id']),
    externalGroup: String(external['data']?.['id']),
    groupAlias: String(groupAlias['data']?.['id']),
  }
  return { ids, state: () => stateOf(root, own, ids) }
}

async function stateOf(root: Client, own: Client, ids: Record<string, string>): Promise<unknown[]> {
  const reads = [
    ...[
      `sys/policies/acl/policy-${mark}`,
      'sys/policies/acl/all',
      'sys/policies/acl/default',
      'sys/auth',
      'sys/mounts',
      `sys/namespaces/child-${mark}`,
    ],
    ...[
      `auth/jwt-${mark}/config`,
      `auth/jwt-${mark}/role/role-${mark}`,
      `auth/token/roles/role-${mark}`,
      `sys/auth/jwt-${mark}/tune`,
    ],
    ...[
      `identity/oidc/key/key-${mark}`,
      `identity/oidc/role/role-${mark}`,
      'identity/oidc/config',
      'sys/auth/token/tune',
    ],
    ...[
      `identity/entity/id/${ids['entity']}`,
      `identity/entity-alias/id/${ids['entityAlias']}`,
      `identity/group/id/${ids['group']}`,
    ],
    ...[`identity/group/id/${ids['externalGroup']}`, `identity/group-alias/id/${ids['groupAlias']}`],
  ]
  const lists = [
    ...[
      'sys/policies/acl',
      'sys/namespaces',
      `auth/jwt-${mark}/role`,
      'auth/token/roles',
      'auth/token/accessors',
      'identity/oidc/key',
      'identity/oidc/role',
    ],
    ...[
      'identity/entity/id',
      'identity/entity-alias/id',
      'identity/group/id',
      'identity/group-alias/id',
      'sys/leases/lookup/auth/token/create',
    ],
    ...[`sys/leases/lookup/auth/jwt-${mark}/login`, 'sys/leases/lookup', `sys/leases/lookup/engine/creds/ci`],
  ]
  const at = inside('bravo')
  const answers = await Promise.all([
    ...reads.map((path) => root.read(path, at)),
    ...lists.map((path) => root.list(path, at)),
    root.write('auth/token/lookup-accessor', { accessor: ids['accessor'] }, at),
    root.write('auth/token/lookup-accessor', { accessor: ids['loginAccessor'] }, at),
    root.write('sys/leases/lookup', { lease_id: ids['lease'] }, at),
    root.write('sys/leases/lookup', { lease_id: ids['secretLease'] }, at),
    root.read('sys/leases/count?type=irrevocable&include_child_namespaces=true', at),
    own.read('cubbyhole/kept', at),
    own.list('cubbyhole', at),
    root.read('sys/namespaces/bravo'),
    root.read('sys/mounts'),
    root.read('sys/auth'),
    root.list('sys/policies/acl'),
  ])
  return answers.map(({ status, body }) => ({ status, data: withoutTime(body['data']) }))
}

/** A remaining TTL decreases by itself. */
function withoutTime(data: Json | undefined): unknown {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data
  const { ttl: _ttl, ...rest } = data
  return rest
}
