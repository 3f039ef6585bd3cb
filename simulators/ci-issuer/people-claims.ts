import { randomUUID } from 'node:crypto'
import type { Claims, ClaimsInput } from './claims.ts'

/** The client id registered for Gatehouse. */
const clientId = 'gatehouse'

/**
 * The ID token of Microsoft Entra ID v2.0: people and groups by object id; `sub` is specific to the client.
 */
export const entraClaims = ({ issuer, now, claims = {} }: ClaimsInput): Claims => ({
  aud: clientId,
  iss: issuer,
  iat: now,
  nbf: now,
  exp: now + 3900,
  name: 'Octavia Butler',
  oid: '7a1c9d52-4b8e-4f0a-9a61-3f2f8f0f5c10',
  preferred_username: 'octavia@acme.example',
  sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
  tid: '9a3d4b10-2c55-4f1e-8a77-51f0a2b6c9d3',
  uti: 'fqiBqXLPj0eQa82S-IYFAA',
  ver: '2.0',
  groups: ['1f0c9a77-52aa-4e6f-9b1d-0a7c55e1d2f4', '8e2b7c41-03dd-4b52-8f19-6c90d4a1b7e8'],
  ...claims,
})

/** The ID token of an Okta authorization server with a `groups` claim. */
export const oktaClaims = ({ issuer, now, claims = {} }: ClaimsInput): Claims => ({
  sub: '00u1ab2cd3EF4gh5I6j7',
  name: 'Octavia Butler',
  email: 'octavia@acme.example',
  email_verified: true,
  ver: 1,
  iss: issuer,
  aud: clientId,
  iat: now,
  exp: now + 3600,
  jti: `ID.${randomUUID()}`,
  amr: ['pwd', 'mfa'],
  idp: '00o1ab2cd3EF4gh5I6j7',
  preferred_username: 'octavia@acme.example',
  auth_time: now - 5,
  groups: ['Everyone', 'gatehouse-developers'],
  ...claims,
})

/** The ID token of Google for a member of a Workspace domain (`hd`). It never contains groups. */
export const googleClaims = ({ issuer, now, claims = {} }: ClaimsInput): Claims => ({
  iss: issuer,
  azp: clientId,
  aud: clientId,
  sub: '110169484474386276334',
  hd: 'acme.example',
  email: 'octavia@acme.example',
  email_verified: true,
  name: 'Octavia Butler',
  given_name: 'Octavia',
  family_name: 'Butler',
  iat: now,
  exp: now + 3600,
  ...claims,
})

/** The ID token of a Keycloak realm with a group mapper, without full paths. */
export const keycloakClaims = ({ issuer, now, claims = {} }: ClaimsInput): Claims => ({
  exp: now + 300,
  iat: now,
  auth_time: now - 5,
  jti: randomUUID(),
  iss: issuer,
  aud: clientId,
  sub: 'f3b1c2d4-5e6f-4a7b-8c9d-0e1f2a3b4c5d',
  typ: 'ID',
  azp: clientId,
  sid: randomUUID(),
  acr: '1',
  email_verified: true,
  name: 'Octavia Butler',
  groups: ['developers', 'operators'],
  preferred_username: 'octavia',
  given_name: 'Octavia',
  family_name: 'Butler',
  email: 'octavia@acme.example',
  ...claims,
})

/**
 * The ID token of Auth0 with a namespaced roles claim, as an Action adds it. Auth0's issuer ends with a
 * slash.
 */
export const auth0Claims = ({ issuer, now, claims = {} }: ClaimsInput): Claims => ({
  'https://gatehouse.example/roles': ['developer'],
  nickname: 'octavia',
  name: 'Octavia Butler',
  picture: 'https://cdn.example/avatars/oc.png',
  updated_at: new Date(now * 1000).toISOString(),
  email: 'octavia@acme.example',
  email_verified: true,
  iss: issuer,
  aud: clientId,
  iat: now,
  exp: now + 36_000,
  sub: 'auth0|64b0f3a2c9e1d7a5b8f6c4e2',
  sid: randomUUID(),
  ...claims,
})
