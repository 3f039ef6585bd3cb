import { once } from 'node:events'
import { startFromCommandLine } from '../by-hand.ts'
import { startIssuer } from './issuer.ts'

/** `node simulators/ci-issuer/main.ts [--port 9000]`: an issuer for use with curl. Ctrl-C ends it. */
await using issuer = await startFromCommandLine((port) => startIssuer({ port, controls: true }))
process.stdout.write(`Issuer: ${issuer.url}

  JWT=$(curl -s ${issuer.url}/token -d '{"provider": "github", "claims": {"repository": "acme/shop", "aud": "gatehouse"}}')
  JWT=$(curl -s ${issuer.url}/token -d '{"provider": "gitlab", "algorithm": "ES256"}')
  curl -s ${issuer.url}/rotate -d '{"keep_old": false}'
  curl -s ${issuer.url}/trouble -d '{"kind": "status", "status": 500, "document": "jwks"}'
  curl -s ${issuer.url}/trouble -d '{}'
`)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
