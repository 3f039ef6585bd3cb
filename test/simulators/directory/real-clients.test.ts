import {
  ConfidentialClientApplication,
  type INetworkModule,
  type NetworkRequestOptions,
} from '@azure/msal-node'
import { Client } from '@microsoft/microsoft-graph-client'
import { expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { type Answer, send } from './client.ts'

/** The HTTP client for MSAL: it trusts only the stand-in's authority and follows no redirect. */
function networkOf(directory: Directory): INetworkModule {
  const ask = async <T>(method: string, url: string, options: NetworkRequestOptions = {}) => {
    const form =
      options.body === undefined ? undefined : Object.fromEntries(new URLSearchParams(options.body))
    const { status, headers, body } = await send(directory, method, url, form === undefined ? {} : { form })
    // MSAL names the shape of the response it wants, and checks it itself
    return {
      status,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body: body as T,
    }
  }
  return {
    sendGetRequestAsync: (url, options) => ask('GET', url, options),
    sendPostRequestAsync: (url, options) => ask('POST', url, options),
  }
}

const clientOf = (directory: Directory, clientSecret = directory.rootClientSecret) =>
  new ConfidentialClientApplication({
    auth: {
      clientId: directory.rootClientId,
      clientSecret,
      authority: `${directory.authorityUrl}/${directory.tenantId}`,
      knownAuthorities: [new URL(directory.authorityUrl).host],
    },
    system: { networkClient: networkOf(directory) },
  })

test('MSAL discovers the tenant, gets a token, and keeps it', async () => {
  await using directory = await startDirectory()
  const client = clientOf(directory)
  const scopes = [`${directory.directoryUrl}/.default`]

  const first = await client.acquireTokenByClientCredential({ scopes })
  const second = await client.acquireTokenByClientCredential({ scopes })

  expect(first).toMatchObject({ tokenType: 'Bearer', fromCache: false })
  expect(second).toMatchObject({ accessToken: first?.accessToken, fromCache: true })
  expect(directory.journal.entries().map(({ operation }) => operation)).toEqual(['discovery', 'token'])
})

test.each([
  {
    name: 'a wrong secret',
    secret: 'wrong',
    scope: '/.default',
    code: 'invalid_client',
    number: 7000215,
    status: 401,
  },
  {
    name: 'a bad scope',
    secret: undefined,
    scope: '/User.Read',
    code: 'invalid_scope',
    number: 1002012,
    status: 400,
  },
])('MSAL reports the code of $name', async ({ secret, scope, code, number, status }) => {
  await using directory = await startDirectory()

  const asked = clientOf(directory, secret).acquireTokenByClientCredential({
    scopes: [directory.directoryUrl + scope],
  })

  await expect(asked).rejects.toMatchObject({ name: 'ServerError', errorCode: code, errorNo: number, status })
})

test('MSAL does not retry by itself once throttled', async () => {
  await using directory = await startDirectory()
  const client = clientOf(directory)
  const ask = () => client.acquireTokenByClientCredential({ scopes: [`${directory.directoryUrl}/.default`] })
  directory.fault({ kind: 'throttled', operation: 'token', retryAfterSeconds: 30 })

  await expect(ask()).rejects.toMatchObject({ status: 429 })
  await expect(ask()).rejects.toThrow()

  expect(directory.journal.entries({ operation: 'token' })).toHaveLength(1)
})

/** A `fetch` over `send`, for the Graph client's middleware. */
function graphOf(directory: Directory, token: string): Client {
  return Client.initWithMiddleware({
    baseUrl: directory.directoryUrl,
    customHosts: new Set(['127.0.0.1']),
    middleware: {
      execute: async (context) => {
        const { method = 'GET', body } = context.options ?? {}
        const answer = await send(directory, method, String(context.request), {
          token,
          ...(typeof body === 'string' && { json: JSON.parse(body) }),
        })
        context.response = responseOf(answer)
      },
    },
  })
}

const responseOf = ({ status, raw, headers }: Answer) =>
  new Response(status === 204 ? null : raw, {
    status,
    headers: { 'content-type': String(headers['content-type']) },
  })

test('the Graph client creates, finds and deletes an application, and understands errors', async () => {
  await using directory = await startDirectory()
  const token = await clientOf(directory).acquireTokenByClientCredential({
    scopes: [`${directory.directoryUrl}/.default`],
  })
  const graph = graphOf(directory, token?.accessToken ?? '')

  const made: { id: string; appId: string } = await graph
    .api('/applications')
    .post({ displayName: 'by the client', tags: ['gatehouse:a:b'] })
  const found: { value: { id: string }[] } = await graph
    .api('/applications')
    .filter(encodeURIComponent("displayName eq 'by the client'"))
    .get()
  await graph.api(`/applications/${made.id}`).delete()
  const gone = graph.api(`/applications/${made.id}`).get()

  expect(found.value.map(({ id }) => id)).toEqual([made.id])
  await expect(gone).rejects.toMatchObject({
    statusCode: 404,
    code: 'Request_ResourceNotFound',
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
})
