/** Clients split errors on this prefix. docs/contract/oidc.md#the-callback-in-this-order */
export const loginFailed = 'Vault login failed.'
export const stateUnknown = 'Expired or missing OAuth state.'
