// A new Communication Services resource. Phone numbers have no resource type: buy them by hand, if Microsoft still sells you numbers (phone.md).
param name string
param dataLocation string
param tags object

@description('The identity of the app, which places calls.')
param appPrincipalId string

@description('Where its logs go.')
param workspaceId string

// The only built-in role of Communication Services. The role may also manage the resource: the app gets it on this resource alone.
var communicationAndEmailServiceOwner = '09976791-48a7-449e-bb21-39d1a415f350'

resource communication 'Microsoft.Communication/communicationServices@2025-09-01' = {
  name: name
  location: 'global'
  tags: tags
  identity: { type: 'SystemAssigned' }
  properties: {
    dataLocation: dataLocation
    disableLocalAuth: true
  }
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
  name: 'wildfire-logs'
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
