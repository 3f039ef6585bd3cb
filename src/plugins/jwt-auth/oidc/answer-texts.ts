/** What clients split errors on. Contract jwt-oidc §0 D10. */
export const loginFailed = 'Vault login failed.'
export const stateUnknown = 'Expired or missing OAuth state.'
