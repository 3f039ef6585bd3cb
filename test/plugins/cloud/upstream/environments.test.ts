import { expect, test } from 'vitest'
import { isEnvironmentName } from '../../../../src/config/cloud.ts'
import { findEnvironment } from '../../../../src/plugins/cloud/upstream/index.ts'

// docs/contract/cloud.md#endpoints
test.each([
  { name: undefined, directory: 'https://graph.microsoft.com', login: 'https://login.microsoftonline.com' },
  {
    name: 'AZUREPUBLICCLOUD',
    directory: 'https://graph.microsoft.com',
    login: 'https://login.microsoftonline.com',
  },
  {
    name: 'CloudPublicCloud',
    directory: 'https://graph.microsoft.com',
    login: 'https://login.microsoftonline.com',
  },
  {
    name: 'AZUREUSGOVERNMENTCLOUD',
    directory: 'https://graph.microsoft.us',
    login: 'https://login.microsoftonline.us',
  },
  {
    name: 'cloudUSgovernmentCloud',
    directory: 'https://graph.microsoft.us',
    login: 'https://login.microsoftonline.us',
  },
  {
    name: 'AZURECHINACLOUD',
    directory: 'https://microsoftgraph.chinacloudapi.cn',
    login: 'https://login.chinacloudapi.cn',
  },
  {
    name: 'CloudChinaCloud',
    directory: 'https://microsoftgraph.chinacloudapi.cn',
    login: 'https://login.chinacloudapi.cn',
  },
])('the environment $name has the directory $directory', ({ name, directory, login }) => {
  const environment = findEnvironment(name)

  expect(environment).toMatchObject({
    directoryBase: directory,
    authorityHost: login,
    directoryScope: `${directory}/.default`,
  })
})

test.each(['invalidEnv', 'AzureGermanCloud', '', 'public', 'constructor', ' AzurePublicCloud'])(
  '"%s" is not an environment',
  (name) => {
    expect({ found: findEnvironment(name), isName: isEnvironmentName(name) }).toEqual({
      found: undefined,
      isName: false,
    })
  },
)

test('each cloud has its own token scope for the resource manager', () => {
  const scopes = ['AzurePublicCloud', 'AzureUSGovernmentCloud', 'AzureChinaCloud'].map(
    (name) => findEnvironment(name)?.resourceManagerScope,
  )

  expect(scopes).toEqual([
    'https://management.core.windows.net//.default',
    'https://management.core.usgovcloudapi.net/.default',
    'https://management.core.chinacloudapi.cn/.default',
  ])
})

test('each address of the operator replaces that of the environment, and changes the scope', () => {
  const environment = findEnvironment('AzureChinaCloud', {
    directoryEndpoint: 'https://127.0.0.1:9/dir',
    resourceManagerEndpoint: 'https://arm.private',
  })

  expect(environment).toEqual({
    name: 'china',
    authorityHost: 'https://login.chinacloudapi.cn',
    directoryBase: 'https://127.0.0.1:9/dir',
    directoryScope: 'https://127.0.0.1:9/dir/.default',
    identityTokenAudience: 'api://AzureADTokenExchangeChina',
    resourceManagerBase: 'https://arm.private',
    resourceManagerScope: 'https://arm.private/.default',
  })
})
