import { exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { startTestServer, type TestServer } from '../support/start-server.ts'

/** What a pipeline may do after its login: read one role, and nothing else. */
const policy = 'path "auth/jwt/role/ci" { capabilities = ["read"] }'

/** A server whose `auth/jwt` knows one public key, with a role `ci`, and JWTs signed with the key. */
export async function aPipeline(): Promise<
  TestServer & { jwt(claims?: Record<string, unknown>): Promise<string> }
> {
  const server = await startTestServer()
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  await server.root.write('sys/policies/acl/ci', { policy })
  await server.root.write('auth/jwt/config', {
    jwt_validation_pubkeys: [await exportSPKI(publicKey)],
    bound_issuer: 'https://ci.example',
  })
  await server.root.write('auth/jwt/role/ci', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['ci'],
    token_policies: ['ci'],
    token_ttl: '10m',
  })
  const jwt = (claims = {}) =>
    new SignJWT({ iss: 'https://ci.example', sub: 'build-7', aud: 'ci', ...claims })
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
  return { ...server, jwt }
}
