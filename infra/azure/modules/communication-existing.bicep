// An existing Communication Services resource, in any resource group. It is not changed: the app gets a role on it, and its
// logs go to the workspace. It needs a system-assigned identity (phone.md).
param name string

@description('The identity of the app, which places calls.')
param appPrincipalId string

@description('Where its logs go.')
param workspaceId string

// The only built-in role of Communication Services. The role may also manage the resource: the app gets it on this resource alone.
var communicationAndEmailServiceOwner = '09976791-48a7-449e-bb21-39d1a415f350'

resource communication 'Microsoft.Communication/communicationServices@2025-09-01' existing = {
  name: name
}

resource appCalls 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(communication.id, appPrincipalId, communicationAndEmailServiceOwner)
  scope: communication
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', communicationAndEmailServiceOwner)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  // A name per app, because several apps may use the resource.
  name: 'wildfire-logs-${uniqueString(workspaceId)}'
  scope: communication
  properties: {
    workspaceId: workspaceId
    logs: [{ categoryGroup: 'allLogs', enabled: true }]
  }
}

output name string = communication.name
output endpoint string = 'https://${communication.properties.hostName}'
output resourceId string = communication.properties.immutableResourceId
output principalId string = communication.identity.principalId
