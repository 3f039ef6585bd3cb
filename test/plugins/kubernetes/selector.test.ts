import { describe, expect, test } from 'vitest'
import { parseSelector, selects } from '../../../src/plugins/kubernetes/config/selector.ts'
import { shared } from '../../support/shared.ts'
import { namespaces, selector, startPods, told } from './pods.ts'

describe('a selector', () => {
  test.each([
    ['{"matchLabels":{"env":"dev"}}', { env: 'dev' }],
    [' {"matchlabels":{"a.example/env":"","x":"1.0_a-B"}} ', { 'a.example/env': '', x: '1.0_a-B' }],
    ['matchLabels:\n  env: dev\n  team: "a"\n', { env: 'dev', team: 'a' }],
    ['MATCHLABELS: { env: dev }', { env: 'dev' }],
    ["matchLabels: {env: 'true'}", { env: 'true' }],
    ['{\n\t"matchLabels": {\n\t\t"env": "dev"\n\t}\n}', { env: 'dev' }],
  ])('%s is read', (text, labels) => {
    expect(parseSelector(text)).toEqual(labels)
  })

  test.each(
    [
      ['', ' ', '{}', 'null', '[]', 'x', '5', '{"matchLabels":{}}', '{"matchLabels":null}', 'matchLabels:'],
      ['{"matchLabel":{"env":"dev"}}', '{"matchLabels":{"env":"dev"},"zzz":1}'],
      ['{"matchLabels":{"env":"dev"},"matchExpressions":[]}', '{"matchExpressions":[]}'],
      [
        '{"matchLabels":{"env":"dev"}} x',
        '{"matchLabels":{"env":"dev"}}{}',
        'matchLabels: {env: dev}\n---\n{}',
      ],
      ['{"matchLabels":{"env":"dev","env":"prod"}}', '{"matchLabels":["env"]}', '{"matchLabels":"env"}'],
      [
        'matchLabels: {env: 1}',
        'matchLabels: {env: true}',
        'matchLabels: {env: yes}',
        'matchLabels: {env: null}',
      ],
      [
        'matchLabels: {env: [dev]}',
        'matchLabels: {env: }',
        'matchLabels: {-a: dev}',
        'matchLabels: {a/b/c: dev}',
      ],
      ['matchLabels: {env: "a b"}', `matchLabels: {env: ${'x'.repeat(64)}}`, 'matchLabels: {"": dev}'],
      ['matchLabels: &a {env: dev}', 'matchLabels: {env: !!str dev}', 'a: &a {env: dev}\nmatchLabels: *a'],
      ['matchLabels: {<<: {env: dev}}', '!x {matchLabels: {env: dev}}', 'matchLabels: {env: dev'],
      ['%YAML 1.2\n---\nmatchLabels: {env: yes}', '# x\n%TAG ! tag:x,2000:\n---\nmatchLabels: {env: dev}'],
      [`matchLabels: {env: dev} #${'x'.repeat(16 * 1024)}`],
    ].flat(),
  )('%s is none', (text) => {
    expect(parseSelector(text)).toBeUndefined()
  })

  test('selects a namespace that has all of its labels', () => {
    expect(selects({ env: 'dev' }, { env: 'dev', team: 'a' })).toBe(true)
    expect(selects({ env: 'dev', team: 'a' }, { env: 'dev' })).toBe(false)
    expect(selects({ constructor: 'x' }, {})).toBe(false)
  })
})

const pods = shared(() => startPods())
const refused = '403 namespace not authorized'
const ofTeam = { [selector]: '{"matchLabels":{"team":"a"}}', [namespaces]: [] }

describe('a role with a selector', () => {
  test.each(['{}', 'null', ' ', '{"matchLabels":{}}', 'matchExpressions: []', '{"matchLabels":{"a":"b"}} x'])(
    'is refused if that is %s',
    async (text) => {
      const at = await (await pods()).mount()

      expect(told(await at.role('new', { ...ofTeam, [selector]: text }))).toBe(
        `400 invalid "${selector}" configured`,
      )
    },
  )

  test('asks for the labels of a namespace that is not listed, after the review', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('r', { ...ofTeam, [namespaces]: ['dev'] })
    cluster.objects.labels.set('lone', { team: 'b' })
    cluster.objects.createAccount('lone', 'web')
    cluster.requests.length = 0

    expect(told(await at.login())).toBe('200 ok')
    expect(told(await at.login({ jwt: await cluster.token('prod') }))).toBe('200 ok')
    expect(told(await at.login({ jwt: await cluster.token('lone') }))).toBe(refused)

    expect(cluster.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /apis/authentication.k8s.io/v1/tokenreviews',
      'POST /apis/authentication.k8s.io/v1/tokenreviews',
      'GET /api/v1/namespaces/prod',
      'POST /apis/authentication.k8s.io/v1/tokenreviews',
      'GET /api/v1/namespaces/lone',
    ])
    expect(await at.lastFailure()).toMatchObject({ reason: 'namespace_labels_refused', expected: ['team=a'] })
  })

  test('asks about no namespace of a token that the cluster does not know', async () => {
    const { cluster, mount } = await pods()
    const at = await mount()
    await at.role('r', ofTeam)
    const jwt = await cluster.token('prod')
    cluster.requests.length = 0

    expect(told(await at.login({ jwt: `${jwt.slice(0, -4)}AAAA` }))).toBe('403 permission denied')

    expect(cluster.requests.map(({ method }) => method)).toEqual(['POST'])
  })

  test('needs a reviewer, whose right it is to read namespaces', async () => {
    const { cluster, mount } = await pods()
    const at = await mount({ token_reviewer_jwt: '' })
    await at.role('r', ofTeam)
    const jwt = await cluster.token()
    cluster.objects.rights.set(jwt, new Set(['review', 'namespaces']))
    const seen = [told(await at.login({ jwt }))]
    cluster.objects.rights.set('lesser', new Set(['review']))
    await at.config({ token_reviewer_jwt: 'lesser' })
    seen.push(told(await at.login()))

    expect(seen).toEqual([refused, refused])
    expect(await at.lastFailure()).toMatchObject({ reason: 'namespace_labels_unavailable' })
  })
})

describe('annotations', () => {
  test('of the account become metadata of the alias, and not of the token', async () => {
    const { cluster, mount, server } = await pods()
    const at = await mount({ use_annotations_as_alias_metadata: true })
    const prefix = 'vault.hashicorp.com/alias-metadata-'
    await at.role('r', { bound_service_account_names: '*' })
    cluster.objects.createAccount('dev', 'noted', { [`${prefix}team`]: 'shop', other: 'x' })
    cluster.objects.createAccount('dev', 'bold', { [`${prefix}service_account_uid`]: 'x' })

    const { body } = await at.login({ jwt: await cluster.token('dev', 'noted') })

    expect(Object.keys(Object(body.auth?.['metadata']))).not.toContain('team')
    const entity = await server.root.read(`identity/entity/id/${String(body.auth?.['entity_id'])}`)
    expect(entity.body.data?.['aliases']).toMatchObject([
      { metadata: { team: 'shop', service_account_name: 'noted' } },
    ])
    expect(told(await at.login({ jwt: await cluster.token('dev', 'bold') }))).toMatch(
      /^400 entity alias metadata keys for only internal use found from the client token's associated/,
    )
    cluster.objects.rights.set('lesser', new Set(['review']))
    await at.config({ use_annotations_as_alias_metadata: true, token_reviewer_jwt: 'lesser' })
    expect(told(await at.login())).toBe('403 permission denied')
    expect(await at.lastFailure()).toMatchObject({ reason: 'annotations_unavailable' })
  })
})
