import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { inlineLogin, outcomeOf } from '../support/jwt-desk.ts'
import { startTestServer } from '../support/start-server.ts'
import { workThrough } from './page.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/gitlab-secrets-manager.md'), 'utf8')

test('docs/gitlab-secrets-manager.md: GitLab may make what it needs, and JWTs of others may not', async () => {
  await using issuer = await startIssuer()
  await using server = await startTestServer()
  const reader = await workThrough(page, server, { given: { GITLAB: issuer.url } })
  const make = async (claims: Record<string, unknown>) => {
    const jwt = await issuer.signPipeline('gitlab', { aud: 'https://gatehouse.example.com', ...claims })
    const headers = inlineLogin('auth/gitlab_rails_jwt/login', { role: 'app', jwt })
    return outcomeOf(await server.anonymous.write('sys/namespaces/org_1', {}, { headers }))
  }

  expect(await make({ secrets_manager_scope: 'privileged' })).toEqual([200, '', false])
  expect(await make({ secrets_manager_scope: 'user' })).toEqual([
    400,
    'error validating claims: claim "secrets_manager_scope" does not match any associated bound claim values',
    true,
  ])
  expect((await make({ secrets_manager_scope: 'privileged', aud: 'gitlab' }))[2]).toBe(true)
  expect(reader.answer('/lint').status).toBe(200)
})
